"""A small model on the CPU behind the same HTTP interface as every other model.

``start`` execs ``server`` as a child process; ``server`` parses requests (``fields``), hands them
to ``engine``, whose thread decodes all of them as one batch (``slots`` holds their keys and values,
``sampling`` picks their tokens), and writes the answers (``answers``). ``weights`` finds the files
and their revision without importing torch; ``load`` converts and loads them.
"""
