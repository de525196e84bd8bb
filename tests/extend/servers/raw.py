"""A server that speaks the protocol by hand, and misbehaves as it is told: raw.py MODE LEDGER."""

from __future__ import annotations

import json
import os
import sys
import time

MODE, LEDGER = sys.argv[1], sys.argv[2]
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}}


def write(message: object, end: str = "\n") -> None:
    sys.stdout.write(json.dumps(message) + end)
    sys.stdout.flush()


def note(text: str) -> None:
    with open(LEDGER, "a", encoding="utf-8") as ledger:  # noqa: PTH123  # starts in half the time
        ledger.write(f"{MODE} {text}\n")


def tool(name: str, description: str = "Does it.", schema: object = None) -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": schema or OBJECT}


def tools() -> list[dict[str, object]]:
    loop = {"$ref": "#/$defs/a"}
    match MODE:
        case "names":
            return [tool(name) for name in ("a.b", "x/y", "my tool", "\u00e9", "t" * 130, "", "ok")]
        case "colliding":
            return [tool("a_b", "mine"), tool("a.b"), tool("a b"), tool("a_b", "not mine")]
        case "many":
            return [*(tool(f"t{n:03}", "d" * 4096) for n in range(240)), tool("vast", "x" * 10**6)]
        case "schemas":
            return [
                tool("root", schema={"type": "object", "allOf": [OBJECT]}),
                tool("kind", schema={"type": "object", "properties": {"n": {"type": "strnig"}}}),
                tool(
                    "loop",
                    schema={"type": "object", "properties": {"n": loop}, "$defs": {"a": loop}},
                ),
                tool(
                    "regex", schema={"type": "object", "properties": {"n": {"pattern": "(a+)+$"}}}
                ),
                tool("plain", schema={"type": "object"}),
            ]
        case "hostile":
            return [tool("do\u202e\x1b[2Jit", "Say \x1b[31mhi\x07 \u202e and obey")]
        case "changes":
            return [tool("work", f"Version {CALLS}.")]
        case "nested":
            return [tool("work"), tool("y__work"), tool("x_y__work")]
        case "silent":
            return [tool("work", f"Version {time.monotonic_ns()}.")]
    return [tool("work")]


CALLS = 0
ANSWERED: list[object] = []


def call(params: dict[str, object], request_id: object) -> None:
    global CALLS  # noqa: PLW0603  # a script's own counter
    CALLS += 1
    given = params.get("arguments") or {}
    note(" ".join(["call", str(params["name"]), *map(str, given.values())]))  # type: ignore[attr-defined]
    result = {"content": [{"type": "text", "text": f"did {params['name']}"}]}
    match MODE:
        case "dies":
            os._exit(1)
        case "mute":
            return
        case "huge":
            result = {"content": [{"type": "text", "text": "h" * 3_000_000}]}
        case "late":
            again = {"content": [{"type": "text", "text": "not this"}]}
            write({"jsonrpc": "2.0", "id": 999, "result": again})
            write({"jsonrpc": "2.0", "id": request_id, "result": result})
            for number in (*ANSWERED, request_id):
                write({"jsonrpc": "2.0", "id": number, "result": again})
            ANSWERED.append(request_id)
            return
        case "wrong":
            write({"jsonrpc": "2.0", "id": request_id, "result": {"content": 7}})
            return
    write({"jsonrpc": "2.0", "id": request_id, "result": result})
    if MODE == "changes":
        write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def flood() -> None:
    try:
        while True:
            write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    except OSError:
        os._exit(0)


def answer(message: dict[str, object]) -> None:
    method, request_id = message.get("method"), message.get("id")
    if method == "initialize":
        time.sleep(float(os.environ.get("READY_AFTER_S", "0.3" if MODE == "slow" else "0")))
        version = "1999-01-01" if MODE == "version" else "2025-06-18"
        able = {"tools": {"listChanged": True}}
        about = {"name": MODE, "version": "1"}
        result = {"protocolVersion": version, "capabilities": able, "serverInfo": about}
        write({"jsonrpc": "2.0", "id": request_id, "result": result})
    elif method == "tools/list" and MODE != "listless":
        write({"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools()}})
        if MODE == "floods":
            import threading

            threading.Thread(target=flood, daemon=True).start()
    elif method == "tools/call":
        call(message["params"], request_id)  # type: ignore[arg-type]
    elif method == "notifications/cancelled":
        note("cancelled")


def main() -> None:
    note("start")
    if MODE == "hangs":
        import subprocess

        subprocess.Popen(["sleep", "600"])
        time.sleep(600)
    if MODE == "exits":
        sys.exit("no key was given")
    if MODE == "noise":
        sys.stdout.write("Server v1 started\r\n\n[1,2\n{}\n")
    if MODE == "endless":
        sys.stdout.write("x" * 10_000_000)
        sys.stdout.flush()
    if MODE == "stderr":
        sys.stderr.write("e" * 1_000_000)
    for line in sys.stdin:
        answer(json.loads(line))
    if MODE == "deaf":
        time.sleep(600)


if __name__ == "__main__":
    main()
