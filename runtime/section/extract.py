#!/usr/bin/python3 -IB
# SPDX-License-Identifier: Apache-2.0
#
# What is in Python files: run in a sandbox by menace, embedded at build time
#
# Standard input has files, each as a line {"n", "size"} and that many bytes.  For each one line goes to
# standard output at once: {"n", "sections"} or {"n", "error": {"line", "message"}}.  Nothing of a file
# is imported or run.  Files are not trusted with our time: each node is looked at a fixed number of times,
# however they are nested, and no text that is kept is longer than a fixed length.
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
NAME_MAX = 1000
LIST_MAX = 1000  # decorators, bases, parameters
PARTS_MAX = 8  # of a dotted name that are looked at
FLAGS_MAX = 100  # nodes of the flags of os.open()
REPLY_MAX = 8 << 20
OPEN_TO_WRITE = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"}


def plain(text):
    """Without what is no text in JSON: NUL, and halves of characters."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def text_of(node):
    text = plain(ast.unparse(node))
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "..."


def few(items, what):
    if len(items) > LIST_MAX:
        raise ValueError("over %d %s" % (LIST_MAX, what))
    return items


def texts_of(nodes, what):
    return [text_of(node) for node in few(nodes, what)]


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
    few(positional + args.kwonlyargs, "parameters")
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


def children(node):
    """In the order of the text, but for nodes that say nothing."""
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and field not in ("ctx", "op"):
            found.append(value)
    return found


def annotations(node):
    args = node.args
    every = args.posonlyargs + args.args + [args.vararg] + args.kwonlyargs + [args.kwarg]
    return [a.annotation for a in every if a and a.annotation] + ([node.returns] if node.returns else [])


def kind_of_module(name):
    first, _, rest = name.partition(".")
    return BY_MODULE.get(first + "." + rest.partition(".")[0]) or BY_MODULE.get(first)


def doc_of(node):
    doc = (ast.get_docstring(node, clean=False) or "").strip()
    return plain(doc.partition("\n")[0][:TEXT_MAX].expandtabs()[:TEXT_MAX]) or None


def may_write(flags):
    """Of os.open(); what is too long to look through may."""
    for n, node in enumerate(ast.walk(flags)):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in OPEN_TO_WRITE or n >= FLAGS_MAX:
            return True
    return False


class Section:
    """What one section says of itself and of those within it."""

    def __init__(self, names, owner):
        self.names = names  # of imports: as what -> module
        self.owner = owner  # class of a method, or None
        self.before = []  # what its imports took the place of
        self.found = {}
        self.uses = set()  # names and methods of the same file

    def add(self, kind, node, what):
        if kind:
            self.found.setdefault((kind, what[:TEXT_MAX]), node.lineno)

    def bind(self, name, whole):
        self.before.append((name, self.names.get(name)))
        self.names[name] = whole[:TEXT_MAX]

    def leave(self, outer):
        """Its imports end with it, its hints are the outer one's, too."""
        for name, whole in reversed(self.before):
            if whole is None:
                del self.names[name]
            else:
                self.names[name] = whole
        if outer:
            outer.uses |= self.uses
            for key, line in self.found.items():
                outer.found.setdefault(key, line)

    def look_at(self, node):
        """One node; those below it that are yet to be looked at."""
        look = LOOKS.get(type(node))
        return look(self, node) if look else children(node)

    def look_import(self, node):
        for alias in node.names:
            self.add(kind_of_module(alias.name), node, "import " + alias.name)
            first = alias.name.partition(".")[0]
            self.bind(alias.asname or first, alias.name if alias.asname else first)
        return ()

    def look_import_from(self, node):
        name = (node.module or "")[:TEXT_MAX]
        for alias in node.names:
            whole = name + "." + alias.name
            self.bind(alias.asname or alias.name, whole)
            if not node.level:
                self.add(kind_of_module(whole), node, "from %s import %s" % (name, alias.name))
                if name == "os":
                    self.add(BY_OS_CALL.get(alias.name), node, "from os import " + alias.name)
        return ()

    def look_name(self, node):
        self.uses.add(node.id)
        whole = self.names.get(node.id)
        if whole:
            self.add(kind_of_module(whole), node, whole)
        return ()

    def look_attribute(self, node):
        parts, below = [], node
        while isinstance(below, ast.Attribute):
            parts.append(below.attr)
            below = below.value
        if isinstance(below, ast.Name):
            parts.reverse()
            if below.id in ("self", "cls") and self.owner:
                self.uses.add(self.owner + "." + parts[0])
            whole = self.names.get(below.id)
            for part in parts[:PARTS_MAX] if whole else ():
                whole += "." + part
                self.add(kind_of_module(whole), node, whole)
        return (below,)

    def look_call(self, node):
        name = dotted(node.func) or ""
        first, _, rest = name.partition(".")
        whole = self.names.get(first, first) + ("." + rest if rest else "")
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        self.add(BUILTINS.get(name), node, name)
        if whole in ("open", "io.open", "builtins.open") or last == "open":
            self.opened(node, whole or last, 0 if last == "open" and whole not in ("io.open", "builtins.open", "os.open") else 1)
        if whole.startswith("os.") and whole[3:] in BY_OS_CALL:
            self.add(BY_OS_CALL[whole[3:]], node, whole)
        else:
            self.add(BY_METHOD.get(last), node, last)
        return children(node)

    def opened(self, node, what, at):
        mode = node.args[at] if len(node.args) > at else None
        for keyword in node.keywords:
            if keyword.arg in ("mode", "flags"):
                mode = keyword.value
        if what == "os.open":
            writes = mode is None or may_write(mode)
        elif mode is None:
            writes = False
        else:  # a mode that is decided later may be any
            writes = not isinstance(mode, ast.Constant) or not isinstance(mode.value, str) or bool(set(mode.value) & set("wax+"))
        self.add("write" if writes else "read", node, what)


LOOKS = {
    ast.Import: Section.look_import,
    ast.ImportFrom: Section.look_import_from,
    ast.Name: Section.look_name,
    ast.Attribute: Section.look_attribute,
    ast.Call: Section.look_call,
    ast.Constant: lambda section, node: (),
}


class Scope:
    """Where a definition is found, and what an end of it means."""

    def __init__(self, section, prefix, inside, owner, row=None, outer=None):
        self.section = section  # None: the module, of which the import was looked at before
        self.prefix = prefix
        self.inside = inside  # module, class, function
        self.owner = owner
        self.row = row
        self.outer = outer


class File:
    def __init__(self, source):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(source)
        self.lines = source.splitlines(keepends=True)
        self.names = {}
        self.rows = []
        self.seen = {}

    def add(self, kind, name, node, first, last, extra):
        if len(self.rows) >= SECTIONS_MAX:
            raise ValueError("over %d sections" % SECTIONS_MAX)
        if len(name) > NAME_MAX:
            raise ValueError("the name of a section is over %d characters" % NAME_MAX)
        if last > max(1, len(self.lines)):
            raise ValueError("its encoding hides lines")
        count = self.seen[name] = self.seen.get(name, 0) + 1
        row = {
            "name": name if count == 1 else "%s#%d" % (name, count),
            "kind": kind,
            "first": first,
            "last": last,
            "doc": doc_of(node),
            "sha256": hashlib.sha256(b"".join(self.lines[first - 1 : last])).hexdigest(),
            "_plain": name,
        }
        row.update(extra)
        self.rows.append(row)
        return row

    def close(self, row, section):
        found = sorted(section.found.items(), key=lambda item: (item[1], item[0]))
        row["hints"] = [{"kind": k, "what": w, "line": line} for (k, w), line in found[:HINTS_MAX]]
        row["_uses"], row["_kinds"] = section.uses, {k for (k, _), _ in found}

    def open(self, node, scope):
        """The scope of a definition, and what of it is looked at there."""
        name = scope.prefix + node.name
        decorators = texts_of(node.decorator_list, "decorators")
        first = min([node.lineno] + [d.lineno for d in node.decorator_list])
        if isinstance(node, ast.ClassDef):
            row = self.add("class", name, node, first, node.end_lineno,
                           {"decorators": decorators, "bases": texts_of(node.bases, "bases")})
            inside = "function" if scope.inside == "function" else "class"
            return Scope(Section(self.names, None), name + ".", inside, name, row, scope), children(node)
        kind = {"module": "function", "class": "method", "function": "nested"}[scope.inside]
        row = self.add(kind, name, node, first, node.end_lineno,
                       {"async": isinstance(node, ast.AsyncFunctionDef), "decorators": decorators,
                        "parameters": parameters_of(node.args), "returns": text_of(node.returns) if node.returns else None})
        return Scope(Section(self.names, scope.owner), name + ".<locals>.", "function", scope.owner, row, scope), now(node) + node.body

    def look_through(self):
        """All definitions, each once, those within others as well."""
        scope = Scope(None, "", "module", None)
        todo = self.tree.body[::-1]
        while todo:
            node = todo.pop()
            if isinstance(node, Scope):  # its end
                self.close(node.row, node.section)
                node.section.leave(node.outer.section)
                scope = node.outer
            elif isinstance(node, DEFINITIONS):
                if scope.section and isinstance(node, FUNCTIONS):
                    for part in annotations(node):
                        self.look_below(scope.section, [part])
                scope, below = self.open(node, scope)
                todo.append(scope)
                todo += below[::-1]
            elif scope.section:
                todo += scope.section.look_at(node)[::-1]
            else:  # an "if" or a "try" around it
                todo += [n for n in children(node) if isinstance(n, (ast.stmt, ast.ExceptHandler, ast.match_case))][::-1]

    @staticmethod
    def look_below(section, nodes):
        """Of functions only what runs where they are defined."""
        todo = nodes[::-1]
        while todo:
            node = todo.pop()
            todo += (now(node) if isinstance(node, FUNCTIONS) else section.look_at(node))[::-1]

    def find_live(self):
        """Of one name the last definition lives, and of a property its setter and its deleter do, too."""
        live = {}
        for row in self.rows:
            accessor = accessor_of(row)
            if accessor is None:
                live[row["_plain"]] = {}
            live.setdefault(row["_plain"], {})[accessor or "getter"] = row
            row["_live"] = False
        for rows in live.values():
            for row in rows.values():
                row["_live"] = True
        return live

    def spread(self, live):
        """Kinds of what is used are kinds of whoever uses it; each pair is looked at once for a kind."""
        users = {}
        for row in self.rows:
            uses = row["_uses"]
            if row["kind"] == "method":
                uses = uses | {row["_plain"].rpartition(".")[0] + ".__init__"}
            for name in uses:
                if name and name in live:
                    users.setdefault(name, []).append(row)
        todo = [row for row in self.rows if row["_kinds"]]
        while todo:
            row = todo.pop()
            if not row["_live"]:
                continue
            for user in users.get(row["_plain"], []):
                if not row["_kinds"] <= user["_kinds"]:
                    user["_kinds"] |= row["_kinds"]
                    todo.append(user)

    def finish(self):
        self.spread(self.find_live())
        for row in self.rows:
            row["shadowed"] = not row["_live"]
            row["reach"] = sorted(row["_kinds"])
            for key in ("_plain", "_uses", "_kinds", "_live"):
                del row[key]
        return self.rows

    def sections(self):
        module = Section(self.names, None)
        row = self.add("module", "", self.tree, 1, max(1, len(self.lines)), {})
        self.look_below(module, self.tree.body)
        self.close(row, module)
        row["_uses"] = set()  # an import calls what it calls; names alone are no calls
        self.look_through()
        return self.finish()


def accessor_of(row):
    """What a definition adds to the property of its own name, as in "@x.setter def x"; None: it is one by itself."""
    name = row["_plain"].rpartition(".")[2]
    for accessor in ("getter", "setter", "deleter"):
        if row["kind"] == "method" and name + "." + accessor in row["decorators"]:
            return accessor
    return None


def look_at(source):
    try:
        return {"sections": File(source).sections()}
    except SyntaxError as e:
        return {"error": {"line": e.lineno or 0, "message": plain(str(e.msg)[:TEXT_MAX])}}
    except (ValueError, RecursionError, MemoryError, UnicodeError) as e:
        return {"error": {"line": 0, "message": plain(("%s: %s" % (type(e).__name__, e))[:TEXT_MAX])}}


def main():
    sys.setrecursionlimit(3000)
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            break
        head = json.loads(line)
        reply = look_at(sys.stdin.buffer.read(head["size"]))
        text = json.dumps(dict(reply, n=head["n"]), ensure_ascii=True, sort_keys=True)
        if len(text) > REPLY_MAX:
            text = json.dumps({"n": head["n"], "error": {"line": 0, "message": "what is in it is over 8 MiB of text"}})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


main()
