# SPDX-License-Identifier: Apache-2.0
#
# What is in Python files: run in a sandbox by menace, embedded at build time
#
# Standard input has files, each as a line {"n", "size"} and that many bytes.  For each one line goes to
# standard output at once: {"n", "sections"} or {"n", "error": {"line", "message"}}.  Nothing of a file
# is imported or run.  VERSION of scan.c changes with what is told here.
import ast
import hashlib
import json
import sys
import warnings

MODULES = {
    "network": "aiohttp asyncore boto3 botocore email.mime ftplib grpc http httplib2 httpx imaplib nntplib "
    "paramiko poplib psycopg2 pymongo pymysql redis requests smtplib socket socketserver ssl telnetlib "
    "urllib.request urllib3 websocket websockets xmlrpc",
    "write": "shutil sqlite3 tempfile shelve dbm",
    "process": "subprocess multiprocessing pty pexpect sh",
    "code": "code codeop importlib runpy pickle marshal",
    "native": "ctypes cffi _ctypes",
}
BY_MODULE = {name: kind for kind, names in MODULES.items() for name in names.split()}
BUILTINS = {"eval": "code", "exec": "code", "compile": "code", "__import__": "code"}
OS_CALLS = {
    "process": "system popen fork forkpty posix_spawn posix_spawnp startfile execl execle execlp execlpe "
    "execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe",
    "write": "remove unlink rename renames replace rmdir removedirs mkdir makedirs mknod mkfifo link symlink "
    "truncate chmod chown write",
}
BY_OS_CALL = {name: kind for kind, names in OS_CALLS.items() for name in names.split()}
# Methods that say what they do, whatever they are called on.
BY_METHOD = {
    "write_text": "write", "write_bytes": "write", "touch": "write", "sendto": "network", "open_connection": "network",
    "create_connection": "network", "create_server": "network", "create_subprocess_exec": "process",
    "create_subprocess_shell": "process",
}
TYPES = {
    "str": "str", "int": "int", "float": "float", "bool": "bool", "list": "list", "dict": "dict", "List": "list",
    "Dict": "dict", "Sequence": "list", "Iterable": "list", "Mapping": "dict", "MutableMapping": "dict",
    "datetime": "datetime", "object": "any", "Any": "any", "complex": "float",
}
TEXT_MAX = 200
HINTS_MAX = 50
SECTIONS_MAX = 10000


def text_of(node):
    text = ast.unparse(node)
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "..."


def dotted(node):
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
        return ".".join(reversed(names))
    return None


def stub_type(node):
    """The type of a stub for an annotation, None: there is none."""
    if node is None:
        return "any"
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            try:
                return stub_type(ast.parse(node.value, mode="eval").body)
            except (SyntaxError, ValueError):
                return None
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [s for s in (node.left, node.right) if not (isinstance(s, ast.Constant) and s.value is None)]
        return stub_type(sides[0]) if sides else None
    if isinstance(node, ast.Subscript):
        name = (dotted(node.value) or "").rpartition(".")[2]
        if name == "Optional":
            return stub_type(node.slice)
        if name == "Union" and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            return stub_type(node.slice.elts[0])
        return TYPES.get(name) if name in TYPES else None
    name = dotted(node)
    return TYPES.get(name.rpartition(".")[2]) if name else None


def parameters_of(args):
    rows = []
    positional = [(a, "positional_only") for a in args.posonlyargs]
    positional += [(a, "positional_or_keyword") for a in args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for (arg, kind), default in zip(positional, defaults):
        rows.append((arg, kind, default, default is None))
    if args.vararg:
        rows.append((args.vararg, "var_positional", None, False))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        rows.append((arg, "keyword_only", default, default is None))
    if args.kwarg:
        rows.append((args.kwarg, "var_keyword", None, False))
    return [
        {
            "name": arg.arg,
            "kind": kind,
            "annotation": text_of(arg.annotation) if arg.annotation else None,
            "default": text_of(default) if default else None,
            "required": required,
            "stub": stub_type(arg.annotation),
        }
        for arg, kind, default, required in rows
    ]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = FUNCTIONS + (ast.ClassDef,)


def now(node):
    """What of a function runs where it is defined."""
    return list(node.decorator_list) + [d for d in node.args.defaults + node.args.kw_defaults if d]


class Hints(ast.NodeVisitor):
    """What one section says of itself."""

    def __init__(self, names, owner, inside):
        self.names = names  # of the file's imports: as what -> module
        self.owner = owner  # class of a method, or None
        self.inside = inside  # False: only what runs at the time of the import
        self.found = {}
        self.uses = set()  # names and methods of the same file

    def add(self, kind, node, what):
        self.found.setdefault((kind, what), node.lineno)

    def module(self, name, node, what):
        while name:
            if name in BY_MODULE:
                self.add(BY_MODULE[name], node, what)
                return
            name = name.rpartition(".")[0]

    def visit_FunctionDef(self, node):
        if self.inside:
            self.generic_visit(node)
            return
        for part in now(node):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node):
        for alias in node.names:
            self.module(alias.name, node, "import " + alias.name)
            self.names[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else alias.name.partition(".")[0]

    def visit_ImportFrom(self, node):
        name = node.module or ""
        for alias in node.names:
            whole = name + "." + alias.name
            self.names[alias.asname or alias.name] = whole
            if not node.level:
                self.module(whole, node, "from %s import %s" % (name, alias.name))
                if name == "os" and alias.name in BY_OS_CALL:
                    self.add(BY_OS_CALL[alias.name], node, "from os import " + alias.name)

    def visit_Name(self, node):
        self.uses.add(node.id)
        if node.id in self.names:
            self.module(self.names[node.id], node, self.names[node.id])

    def visit_Attribute(self, node):
        name = dotted(node)
        if name:
            first, _, rest = name.partition(".")
            if first in ("self", "cls") and self.owner:
                self.uses.add(self.owner + "." + rest.partition(".")[0])
            if first in self.names:
                self.module(self.names[first] + "." + rest, node, self.names[first] + "." + rest)
        self.generic_visit(node)

    def visit_Call(self, node):
        name = dotted(node.func) or ""
        first, _, rest = name.partition(".")
        whole = self.names.get(first, first) + ("." + rest if rest else "")
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in BUILTINS:
            self.add(BUILTINS[name], node, name)
        if whole in ("open", "io.open", "builtins.open") or last == "open":
            self.opened(node, whole or last, 0 if last == "open" and whole not in ("io.open", "builtins.open", "os.open") else 1)
        if whole.startswith("os.") and whole[3:] in BY_OS_CALL:
            self.add(BY_OS_CALL[whole[3:]], node, whole)
        elif last in BY_METHOD:
            self.add(BY_METHOD[last], node, last)
        self.generic_visit(node)

    def opened(self, node, what, at):
        mode = node.args[at] if len(node.args) > at else None
        for keyword in node.keywords:
            if keyword.arg in ("mode", "flags"):
                mode = keyword.value
        if what == "os.open":
            writes = mode is None or any(w in ast.unparse(mode) for w in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))
        elif mode is None:
            writes = False
        else:  # a mode that is decided later may be any
            writes = not isinstance(mode, ast.Constant) or not isinstance(mode.value, str) or bool(set(mode.value) & set("wax+"))
        self.add("write" if writes else "read", node, what)


class File:
    def __init__(self, source):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(source)
        self.lines = source.splitlines(keepends=True)
        self.names = {}
        self.rows = []
        self.seen = {}

    def hints_of(self, nodes, owner, inside):
        hints = Hints(dict(self.names) if inside else self.names, owner, inside)
        for node in nodes:
            hints.visit(node)
        return hints

    def add(self, kind, name, node, first, last, hints, extra):
        if len(self.rows) >= SECTIONS_MAX:
            raise ValueError("over %d sections" % SECTIONS_MAX)
        count = self.seen[name] = self.seen.get(name, 0) + 1
        source = b"".join(self.lines[first - 1 : last])
        found = sorted(hints.found.items(), key=lambda item: (item[1], item[0]))
        doc = ast.get_docstring(node)
        row = {
            "name": name if count == 1 else "%s#%d" % (name, count),
            "kind": kind,
            "first": first,
            "last": last,
            "doc": doc.strip().split("\n")[0][:TEXT_MAX] if doc and doc.strip() else None,
            "sha256": hashlib.sha256(source).hexdigest(),
            "hints": [{"kind": k, "what": w[:TEXT_MAX], "line": line} for (k, w), line in found[:HINTS_MAX]],
        }
        row.update(extra)
        row["_plain"], row["_uses"], row["_kinds"] = name, hints.uses, {k for (k, _), _ in found}
        self.rows.append(row)

    def definition(self, node, prefix, inside, owner):
        name = prefix + node.name
        decorators = [text_of(d) for d in node.decorator_list]
        first = min([node.lineno] + [d.lineno for d in node.decorator_list])
        if isinstance(node, ast.ClassDef):
            hints = self.hints_of([node], None, True)
            self.add("class", name, node, first, node.end_lineno, hints,
                     {"decorators": decorators, "bases": [text_of(b) for b in node.bases]})
            self.walk(node.body, name + ".", "class" if inside != "function" else inside, name)
            return
        kind = {"module": "function", "class": "method", "function": "nested"}[inside]
        hints = self.hints_of(now(node) + node.body, owner, True)
        self.add(kind, name, node, first, node.end_lineno, hints,
                 {"async": isinstance(node, ast.AsyncFunctionDef), "decorators": decorators,
                  "parameters": parameters_of(node.args), "returns": text_of(node.returns) if node.returns else None})
        self.walk(node.body, name + ".<locals>.", "function", owner)

    def walk(self, body, prefix, inside, owner):
        todo = list(body)
        while todo:
            node = todo.pop(0)
            if isinstance(node, DEFINITIONS):
                self.definition(node, prefix, inside, owner)
            elif isinstance(node, ast.stmt):  # an "if" or a "try" around it
                todo = [n for n in ast.iter_child_nodes(node) if isinstance(n, (ast.stmt, ast.ExceptHandler, ast.match_case))] + todo
            elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
                todo = list(node.body) + todo

    def spread(self, last):
        """Kinds of what is used are kinds of whoever uses it; each pair is looked at once for a kind."""
        users = {}
        for row in self.rows:
            uses = row["_uses"]
            if row["kind"] == "method":
                uses = uses | {row["_plain"].rpartition(".")[0] + ".__init__"}
            for name in uses:
                if name and name in last:
                    users.setdefault(name, []).append(row)
        todo = [row for row in self.rows if row["_kinds"]]
        while todo:
            row = todo.pop()
            if last[row["_plain"]] is not row:
                continue
            for user in users.get(row["_plain"], []):
                if not row["_kinds"] <= user["_kinds"]:
                    user["_kinds"] |= row["_kinds"]
                    todo.append(user)

    def finish(self):
        last = {row["_plain"]: row for row in self.rows}
        self.spread(last)
        for row in self.rows:
            row["shadowed"] = row is not last[row["_plain"]]
            row["reach"] = sorted(row["_kinds"])
            for key in ("_plain", "_uses", "_kinds"):
                del row[key]
        return self.rows

    def sections(self):
        hints = self.hints_of(self.tree.body, None, False)
        self.add("module", "", self.tree, 1, max(1, len(self.lines)), hints, {})
        self.rows[0]["_uses"] = set()  # an import calls what it calls; names alone are no calls
        self.walk(self.tree.body, "", "module", None)
        return self.finish()


def look_at(source):
    try:
        return {"sections": File(source).sections()}
    except SyntaxError as e:
        return {"error": {"line": e.lineno or 0, "message": str(e.msg)[:TEXT_MAX]}}
    except (ValueError, RecursionError, MemoryError, UnicodeError) as e:
        return {"error": {"line": 0, "message": ("%s: %s" % (type(e).__name__, e))[:TEXT_MAX]}}


def main():
    sys.setrecursionlimit(3000)
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            break
        head = json.loads(line)
        reply = look_at(sys.stdin.buffer.read(head["size"]))
        reply["n"] = head["n"]
        sys.stdout.write(json.dumps(reply, ensure_ascii=True, sort_keys=True) + "\n")
        sys.stdout.flush()


main()
