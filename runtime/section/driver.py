#!/usr/bin/python3 -IB
# SPDX-License-Identifier: Apache-2.0
#
# Calls one section of a Python file: run in a sandbox by menace, embedded at build time
#
# Standard input has {"path", "name", "kind", "decorators": [text], "arguments": [{"name", "keyword", "value" or
# "base64"}], "construct": the same for the class of a method}.  What came of the call goes to standard output as one
# line of JSON; what the section itself writes there goes to standard error.  It all happens in one
# process with the section: whoever reads the line takes it for what the program says of itself.
import base64
import datetime
import functools
import importlib
import importlib.util
import inspect
import json
import os
import sys

TEXT_MAX = 500
ITEMS_MAX = 1000

_say, _exit, _dumps = os.write, os._exit, json.dumps
_pid = os.getpid()
_path = list(sys.path)


def text_of(value):
    try:
        text = repr(value)
    except BaseException as e:
        text = "<repr raised %s>" % type(e).__name__
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "..."


def message_of(e):
    try:
        return str(e)[:TEXT_MAX]
    except BaseException:
        return ""


def place_of(e, root):
    """The deepest frame that is of the repository."""
    found = (None, None)
    tb = e.__traceback__
    while tb:
        path = tb.tb_frame.f_code.co_filename
        if path.startswith(root + "/"):
            found = (path[len(root) + 1 :], tb.tb_lineno)
        tb = tb.tb_next
    return found


def raised(state, e, root):
    path, line = place_of(e, root)
    if isinstance(e, SyntaxError) and e.filename and e.filename.startswith(root + "/"):
        path, line = e.filename[len(root) + 1 :], e.lineno
    return {"state": state, "type": type(e).__name__, "message": message_of(e), "file": path, "line": line}


def load(root, path):
    """Import the file under the name that its packages give it."""
    parts = path[: -len(".py")].split("/")
    top = len(parts) - 1
    while top > 0 and os.path.exists("/".join([root] + parts[:top] + ["__init__.py"])):
        top -= 1
    names = parts[top:]
    if names[-1] == "__init__" and len(names) > 1:
        names = names[:-1]
    sys.path[:0] = list(dict.fromkeys(["/".join([root] + parts[:top]), root]))
    if all(name.isidentifier() for name in names) and ".".join(names) not in sys.modules:
        return importlib.import_module(".".join(names))
    spec = importlib.util.spec_from_file_location("_".join(names), root + "/" + path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def arguments_of(rows):
    args, kwargs = [], {}
    for row in rows:
        value = base64.b64decode(row["base64"]) if "base64" in row else row["value"]
        if row.get("type") == "datetime" and isinstance(value, str):
            try:
                value = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                pass
        if row["keyword"]:
            kwargs[row["name"]] = value
        else:
            args.append(value)
    return args, kwargs


def own(name):
    """A module of Python's, whatever files of the same name the repository has."""
    theirs, sys.path = sys.path, _path
    try:
        return importlib.import_module(name)
    finally:
        sys.path = theirs


def finish(value):
    """Of what only begins when it is called: run it to its end."""
    if inspect.isawaitable(value):
        async def wait():
            return await value

        return own("asyncio").run(wait())
    if inspect.isasyncgen(value):
        async def collect():
            items = []
            async for item in value:
                items.append(item)
                if len(items) >= ITEMS_MAX:
                    break
            return items

        return own("asyncio").run(collect())
    if inspect.isgenerator(value):
        return [item for item, _ in zip(value, range(ITEMS_MAX))]
    return value


def call_function(function, request):
    args, kwargs = arguments_of(request["arguments"])
    if hasattr(function, "register") and kwargs and not args:
        args = [kwargs.pop(next(iter(kwargs)))]  # functools.singledispatch looks at what has no name
    return function(*args, **kwargs)


def is_read(target):
    """Is a method of its class called when the attribute is read, as one of a property is?"""
    if isinstance(target, classmethod):
        target = target.__func__
    return hasattr(type(target), "__get__") and not callable(target) and not isinstance(target, (staticmethod, classmethod))


def read(owner, name, target, request):
    value = getattr(owner, name)
    if isinstance(target, (property, functools.cached_property)):
        return value
    if not inspect.isroutine(value) and not isinstance(value, functools.partial):
        return value
    return call_function(value, request)  # what was read is the method, as of a singledispatchmethod


def write(owner, name, target, request):
    if not hasattr(type(target), "__set__"):
        raise TypeError("%s has no setter" % name)
    args, kwargs = arguments_of(request["arguments"])
    values = args + list(kwargs.values())
    if len(values) == 1:
        setattr(owner, name, values[0])
    else:  # none, where that is the value of the stub; Python gives exactly one
        target.fset(owner, *values)


def access(owner, name, target, request):
    """What is called by an access to the attribute: its setter, its deleter or else its getter."""
    if any(text.endswith(".setter") for text in request["decorators"]):
        return write(owner, name, target, request)
    if any(text.endswith(".deleter") for text in request["decorators"]):
        return delattr(owner, name)
    return finish(read(owner, name, target, request))


def call(module, request):
    if request["kind"] == "module":
        return None
    names = request["name"].split(".")
    owner = module
    for name in names[:-1]:
        owner = getattr(owner, name)
    target = inspect.getattr_static(owner, names[-1])
    is_method = request["kind"] == "method"
    if is_method and not isinstance(target, (staticmethod, classmethod)):
        args, kwargs = arguments_of(request["construct"])
        owner = owner(*args, **kwargs)
    if is_method and is_read(target):
        return access(owner, names[-1], target, request)
    return finish(call_function(getattr(owner, names[-1]), request))


def outcome_of(request, root):
    try:
        module = load(root, request["path"])
    except BaseException as e:
        return raised("not_imported", e, root)
    try:
        value = call(module, request)
    except BaseException as e:
        return raised("raised", e, root)
    return {"state": "returned", "type": type(value).__name__, "value": text_of(value)}


def main():
    request = json.loads(sys.stdin.buffer.read())
    out = os.dup(1)
    os.dup2(2, 1)
    outcome = outcome_of(request, os.getcwd())
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    if os.getpid() == _pid:  # not a child that came back here
        _say(out, (_dumps(outcome, ensure_ascii=True, sort_keys=True) + "\n").encode())
    _exit(0)  # nothing that was left for the end of the program runs after its word


main()
