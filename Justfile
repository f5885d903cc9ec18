set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

venv := justfile_directory() / ".venv"
python := venv / "bin" / "python"
vtdata := venv / "bin" / "vtdata"

# what there is, by group
[private]
default:
    @"{{ just_executable() }}" --justfile "{{ justfile() }}" --list --unsorted

# a real SFT corpus with a real language model on the CPU, into runs/toy-sft
[group('corpora')]
build-sft-corpus recipe="recipes/toy-sft.yaml" *args: (_env "local")
    @"{{ vtdata }}" run "$@"

# what a recipe would ask of its models, and what that costs
[group('corpora')]
plan recipe="recipes/toy-sft.yaml" *args: (_env "local")
    @"{{ vtdata }}" run --dry-run "$@"

# how far a run is
[group('corpora')]
status run="runs/toy-sft" *args: (_env "local")
    @"{{ vtdata }}" status "$@"

# rebuild a run's shards offline and compare hashes
[group('corpora')]
replay run="runs/toy-sft" *args: (_env "local")
    @"{{ vtdata }}" replay "$@"

# is a benchmark in this corpus? --against NAME or FILE, --report FILE.html
[group('corpora')]
decontam *args: (_env "local")
    @"{{ vtdata }}" decontam "$@"

# serve a model on loopback: vLLM where there is a GPU, else the CPU server
[group('models')]
serve *args: (_env "local")
    @"{{ vtdata }}" serve "$@"

# the tests: under ten minutes on two cores; takes pytest's options
[group('development')]
test *args: (_env "dev")
    "{{ python }}" -m pytest -n auto --dist loadfile "$@"

# the tests that the default ones have no time for
[group('development')]
test-slow *args: (_env "dev")
    "{{ python }}" -m pytest -m "slow and not gpu and not network" "$@"

# style, types and import layers
[group('development')]
lint: (_env "dev")
    "{{ python }}" -m ruff check .
    "{{ python }}" -m ruff format --check .
    "{{ venv }}/bin/ty" check vtdata
    "{{ venv }}/bin/lint-imports"

# mend what can be mended by itself
[group('development')]
fix: (_env "dev")
    "{{ python }}" -m ruff check --fix .
    "{{ python }}" -m ruff format .

# what CI runs
[group('development')]
ci: lint test

# speed and memory beside a peer: just bench client
[group('development')]
bench name="pipeline" *args: (_env "dev")
    "{{ python }}" -m "tests.bench.bench_$1" "${@:2}"

# make or refresh .venv; quick when nothing changed
[private]
_env extra:
    @bash "{{ justfile_directory() }}/.ci/env" "{{ venv }}" "{{ extra }}"
