#!/usr/bin/env python3
"""Writes expressions.out and assignments.out: what MySQL answers to each line of the .sql files.

    generate.py mysql -h127.0.0.1 -P3306 -uroot

The arguments are the command that starts a client of MySQL 9.7. For each expression the output
has the expression, its value, and its warnings (or its error) as number and text.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SETUP = "SET time_zone = '+02:00', timestamp = 1710000000.123456, @one = 1, @text = 'abc'; "


def run(client, query):
    command = [*client, "--default-character-set=utf8mb4", "-N", "-B", "--raw", "-e"]
    done = subprocess.run([*command, query], capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        error = next(line for line in done.stderr.splitlines() if line.startswith("ERROR"))
        return [f"! {error.split()[1]} {error.split(': ', 1)[1]}"]
    lines = done.stdout.splitlines() or [""]
    warnings = (line.split("\t", 2) for line in lines[1:])
    return [lines[0], *(f"! {number} {text}" for _level, number, text in warnings)]


def expression(client, line):
    answer = run(client, f"{SETUP}SELECT {line}; SHOW WARNINGS")
    return "\n".join([f"> {line}", *answer]) + "\n"


def assignment(client, line):
    """Stores a value in strict mode and, as INSERT IGNORE, in lenient mode."""
    column, value = line.split(" | ")
    table = f"CREATE TEMPORARY TABLE codec.t (c {column}); {SETUP}"
    out = [f"> {line}"]
    for insert in ["INSERT INTO", "INSERT IGNORE INTO"]:
        # The warnings are shown before the value, and put after it here.
        query = f"{table} {insert} codec.t VALUES ({value}); SHOW WARNINGS; SELECT c FROM codec.t"
        command = [*client, "--default-character-set=utf8mb4", "-N", "-B", "--raw", "-e", query]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode != 0:
            error = next(l for l in done.stderr.splitlines() if l.startswith("ERROR"))
            out.append(f"! {error.split()[1]} {error.split(': ', 1)[1]}")
            continue
        *warnings, stored = done.stdout.split("\n")[:-1]
        out.append(f"= {stored}")
        out.extend(f"! {w.split(chr(9), 2)[1]} {w.split(chr(9), 2)[2]}" for w in warnings)
    return "\n".join(out) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    client = sys.argv[1:]
    run(client, "CREATE DATABASE IF NOT EXISTS codec")
    for name, answer in [("expressions", expression), ("assignments", assignment)]:
        with open(os.path.join(here, name + ".sql"), encoding="utf-8") as file:
            cases = [line.rstrip("\n") for line in file if line.strip() and line[0] != "#"]
        with ThreadPoolExecutor(2) as pool:
            answers = pool.map(lambda case: answer(client, case), cases)
            with open(os.path.join(here, name + ".out"), "w", encoding="utf-8") as file:
                file.writelines(answers)


main()
