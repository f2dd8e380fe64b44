# SPDX-License-Identifier: MIT
"""What pandas and pyarrow find in exported tables without any option, as JSON: read_tables.py csv|parquet|ranks FOLDER

Run by the Python of `scripts/viewers hta`.
"""
import json
import pathlib
import sys

import pandas


def csv(folder):
    allocation = pandas.read_csv(folder / "allocation" / "rank=0" / "data.csv")
    run = pandas.read_csv(folder / "run" / "rank=0" / "data.csv")
    return allocation, dict(zip(run.key, run.value))


def parquet(folder):
    import pyarrow.parquet
    allocation = pandas.read_parquet(folder / "allocation")
    assert pyarrow.parquet.read_table(folder / "allocation").num_rows == len(allocation)
    run = pandas.read_parquet(folder / "run")
    return allocation, dict(zip(run.key, run.value))


def ranks(folder):
    """Rows by rank, read in every way; the rank is in the path alone: in the file, too, it would have two types."""
    import pyarrow.dataset
    import pyarrow.parquet
    allocation = pandas.read_parquet(folder / "allocation")
    return {"pandas": {int(rank): int(n) for rank, n in allocation["rank"].value_counts().items()},
            "filtered": len(pandas.read_parquet(folder / "allocation", filters=[("rank", "=", 1)])),
            "table": pyarrow.parquet.read_table(folder / "allocation").num_rows,
            "dataset": pyarrow.dataset.dataset(folder / "allocation", partitioning="hive").to_table(
                filter=pyarrow.dataset.field("rank") == 1).num_rows,
            "alone": len(pandas.read_parquet(next((folder / "allocation").rglob("*.parquet"))))}


def main():
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "ranks":
        print(json.dumps(ranks(folder)))
        return
    allocation, run = {"csv": csv, "parquet": parquet}[sys.argv[1]](folder)
    live = allocation[(allocation.is_owned == 1) & allocation.freed_event.isna()]
    print(json.dumps({"rows": len(allocation), "bytes": int(live.size_bytes.sum()),
                      "owners": sorted(live.owner.unique()), "ended": run["ended"]}))


if __name__ == "__main__":
    main()
