"""Shards: from selected queries to Parquet that trainers read as it is.

sft, rl      what a row is
spill        each rank leaves its rows in one file, by partition of the shuffle
cut          one process reads the partitions in order and writes the files
manifest     what is there, written last; readers read nothing else
card         what a person should know about it
"""
