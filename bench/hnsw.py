#!/usr/bin/env python3
"""Vector graph against hnswlib: same data, same machine, one thread each, turn by turn in one run.

Needs numpy and hnswlib. Usage: bench/hnsw.py PATH_OF_EXAMPLE_hnsw_bench [--rows N] [--rounds N]
Writes bench/results/hnsw.json.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time

import hnswlib
import numpy as np

DIMENSION = 128
QUERIES = 1000
K = 10
RECALL = 0.98
M = 16
EF_CONSTRUCTION = 200
EFS = [10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 80, 100, 128]


def clustered(rows, seed=11):
    """200 Gaussians; queries come from the same mixture."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((200, DIMENSION)).astype(np.float32)
    labels = rng.integers(0, 200, rows + QUERIES)
    points = centers[labels] + 0.6 * rng.standard_normal((rows + QUERIES, DIMENSION)).astype(np.float32)
    points = points.astype(np.float32)
    return points[:rows].copy(), points[rows:].copy()


def truth_of(base, queries, count=100):
    norms = (base.astype(np.float64) ** 2).sum(1)
    out = np.empty((len(queries), count), np.uint32)
    for at in range(0, len(queries), 100):
        part = queries[at : at + 100].astype(np.float64)
        scores = norms - 2 * part @ base.astype(np.float64).T
        nearest = np.argpartition(scores, count, axis=1)[:, :count]
        order = np.take_along_axis(scores, nearest, 1).argsort(1)
        out[at : at + 100] = np.take_along_axis(nearest, order, 1)
    return out


def recall_of(found, truth):
    return float(np.mean([len(set(a[:K]) & set(b[:K])) for a, b in zip(found, truth)])) / K


class Ours:
    def __init__(self, binary, folder, threads=1):
        parameters = f"metric=l2,m={M},ef_construction={EF_CONSTRUCTION}"
        files = [os.path.join(folder, name) for name in ("base.f32", "queries.f32", "truth.u32")]
        self.process = subprocess.Popen(
            [binary, *files, str(DIMENSION), parameters, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        built = json.loads(self.process.stdout.readline())
        self.build_seconds = built["build_seconds"]
        self.bytes = built["bytes"]

    def search(self, ef):
        self.process.stdin.write(f"search {ef} {K}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["seconds"], answer["recall"], answer["distances"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Hnswlib:
    def __init__(self, base, queries, truth):
        self.queries, self.truth = queries, truth
        start = time.thread_time()
        self.index = hnswlib.Index("l2", DIMENSION)
        self.index.init_index(len(base), M=M, ef_construction=EF_CONSTRUCTION, random_seed=100)
        self.index.set_num_threads(1)
        self.index.add_items(base, num_threads=1)
        self.build_seconds = time.thread_time() - start

    def search(self, ef):
        self.index.set_ef(ef)
        start = time.thread_time()
        found, _ = self.index.knn_query(self.queries, k=K, num_threads=1)
        return time.thread_time() - start, recall_of(found, self.truth), None


def curve(sides, rounds):
    best = {}
    for _ in range(rounds):
        for ef in EFS:
            for name, side in sides.items():
                seconds, recall, distances = side.search(ef)
                held = best.get((name, ef))
                if held is None or seconds < held["seconds"]:
                    best[name, ef] = {"ef": ef, "seconds": seconds, "recall": recall, "distances": distances}
    out = {}
    for name in sides:
        points = [best[name, ef] for ef in EFS]
        for point in points:
            point["qps"] = round(QUERIES / point.pop("seconds"), 1)
        out[name] = points
    return out


def at_recall(points, recall):
    """The smallest ef that reaches the recall."""
    return next((point for point in points if point["recall"] >= recall), None)


def cpu_name():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "hnsw.json"))
    options = parser.parse_args()
    base, queries = clustered(options.rows)
    truth = truth_of(base, queries)
    with tempfile.TemporaryDirectory() as folder:
        base.tofile(os.path.join(folder, "base.f32"))
        queries.tofile(os.path.join(folder, "queries.f32"))
        truth.tofile(os.path.join(folder, "truth.u32"))
        ours = Ours(options.binary, folder)
        rival = Hnswlib(base, queries, truth)
        points = curve({"benostreamdb": ours, "hnswlib": rival}, options.rounds)
        ours.close()
    chosen = {name: at_recall(side, RECALL) for name, side in points.items()}
    result = {
        "data": {"rows": options.rows, "dimension": DIMENSION, "clusters": 200, "queries": QUERIES, "k": K, "seed": 11},
        "parameters": {"m": M, "ef_construction": EF_CONSTRUCTION, "threads": 1},
        "machine": {"cpu": cpu_name(), "system": platform.system(), "machine": platform.machine()},
        "hnswlib": hnswlib.__version__ if hasattr(hnswlib, "__version__") else "0.8.0",
        "time": "processor time of the searching thread, least of the rounds, sides alternate",
        "rounds": options.rounds,
        "target_recall": RECALL,
        "build_seconds": {"benostreamdb": ours.build_seconds, "hnswlib": round(rival.build_seconds, 3)},
        "index_bytes": {"benostreamdb": ours.bytes},
        "at_target": chosen,
        "qps_ratio": round(chosen["benostreamdb"]["qps"] / chosen["hnswlib"]["qps"], 3) if all(chosen.values()) else None,
        "build_ratio": round(rival.build_seconds / ours.build_seconds, 3),
        "curves": points,
    }
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(json.dumps({key: result[key] for key in ("build_seconds", "at_target", "qps_ratio", "build_ratio")}, indent=1))


if __name__ == "__main__":
    main()
