# SPDX-License-Identifier: MIT
"""What the readers of the profiler's files find, as JSON: read_kineto.py kineto|memory-timeline FILE

Run by the Python of `scripts/viewers hta`: HolisticTraceAnalysis, and the TensorBoard plugin of PyTorch's profiler.
"""
import json
import sys


def kineto(path):
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig
    from torch_tb_profiler.profiler.data import RunProfileData
    with open(path) as file:
        data = RunProfileData.from_json("worker", "span", json.load(file))
    meta, frame, symbols = parse_trace_dataframe(path, ParserConfig.get_default_cfg())
    names = symbols.get_sym_table()
    peaks = data.memory_snapshot.get_peak_memory()
    return {"peaks": {device: peak for (_, device), peak in peaks.items()},
            "types": sorted({kind.name for kind, _ in peaks}),
            "slices": [names[number] for number in frame["name"]], "rank": meta["distributedInfo"]["rank"]}


def memory_timeline(path):
    from hta.memory_analysis import _CATEGORY_TO_INDEX, MemoryAnalysis
    times, sizes = MemoryAnalysis(path)._process_raw_events()
    return {"peak": max(map(sum, sizes)), "end": sum(sizes[-1]), "ordered": times == sorted(set(times)),
            "most": {name: max(row[index] for row in sizes) for name, index in _CATEGORY_TO_INDEX.items()},
            "least": min(map(min, sizes))}


if __name__ == "__main__":
    print(json.dumps({"kineto": kineto, "memory-timeline": memory_timeline}[sys.argv[1]](sys.argv[2]), default=int))
