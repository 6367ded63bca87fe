"""Throughputs of pipelines, simulated by the queueing simulator Ciw, for simulation_ciw_test.cpp.

    python3 -m venv /tmp/ciw && /tmp/ciw/bin/pip install ciw==3.2.7
    /tmp/ciw/bin/python src/millrace/model/simulation/ciw_reference.py > src/millrace/model/simulation/ciw_reference.inc

A pipeline is a tandem of nodes. A full node blocks the node before it after its service. The source is a first node
that always has work: customers arrive far more often than it can serve them, and are lost if its small queue is
full. Columns: seconds, cv, threads and queue of each stage, share of items that visit the middle stage, then items
per second with the standard error of the mean over runs.
"""

import math
import statistics

import ciw


def distribution(mean, cv):
    if cv == 0:
        return ciw.dists.Deterministic(mean)
    if cv == 1:
        return ciw.dists.Exponential(1 / mean)
    variance = math.log1p(cv * cv)
    return ciw.dists.Lognormal(math.log(mean) - variance / 2, math.sqrt(variance))


def throughput(times, cvs, threads, queue, visits, seed, horizon, warm_up):
    n = len(times)
    routing = [[0.0] * n for _ in range(n)]
    for i in range(n - 1):
        routing[i][i + 1] = 1.0
    if visits < 1:
        routing[0][1] = visits
        routing[0][2] = 1 - visits
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Deterministic(times[0] / 3)] + [None] * (n - 1),
        service_distributions=[distribution(t, c) for t, c in zip(times, cvs)],
        number_of_servers=threads,
        queue_capacities=[2] + [queue] * (n - 1),
        routing=routing,
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(horizon)
    left = [r for r in simulation.get_all_records() if r.node == n and r.record_type == "service"]
    done = sum(1 for r in left if warm_up <= r.exit_date < horizon)
    return done / (horizon - warm_up)


CASES = [
    ((1.0, 1.0, 1.0), (1, 1, 1), (1, 1, 1), 1, 1.0),
    ((1.0, 1.0, 1.0), (1, 1, 1), (1, 1, 1), 4, 1.0),
    ((1.0, 1.0, 1.0), (0.5, 0.5, 0.5), (1, 1, 1), 1, 1.0),
    ((1.0, 1.0, 1.0), (0, 1, 0), (1, 1, 1), 2, 1.0),
    ((0.5, 2.0, 0.4), (1, 1, 1), (1, 4, 1), 2, 1.0),
    ((0.5, 2.0, 0.4), (0.3, 2.0, 0.3), (1, 4, 1), 5, 1.0),
    ((0.5, 1.0, 0.45), (1, 1, 1), (1, 1, 1), 3, 0.4),
    ((0.3, 1.0, 1.5, 0.3), (1, 0.5, 1.5, 1), (1, 3, 5, 1), 2, 1.0),
]

RUNS = 8
print("// Made by ciw_reference.py with Ciw", ciw.__version__ if hasattr(ciw, "__version__") else "")
for times, cvs, threads, queue, visits in CASES:
    found = [throughput(times, cvs, list(threads), queue, visits, seed, 6000, 200) for seed in range(RUNS)]
    mean = statistics.mean(found)
    error = statistics.stdev(found) / math.sqrt(RUNS)

    def braces(values):
        return "{" + ", ".join(str(v) for v in values) + "}"

    print(f"{{{braces(times)}, {braces(cvs)}, {braces(threads)}, {queue}, {visits}, {mean:.5f}, {error:.5f}}},")
