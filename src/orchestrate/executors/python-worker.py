"""Nightshift's Python side: `scan` reads what files define without running them; `serve` runs one module's functions.

Protocol (JSON, one object a line). serve reads from stdin and answers on what stdout was at its start:
  <- {"id": 1, "function": "check", "params": {...}, "env": {...}, "cwd": "/...", "call": {...}}
  -> {"id": 1, "stream": "stdout", "text": "..."} | {"id": 1, "touch": "..."} | {"id": 1, "emit": "kind", "data": {...}}
  -> {"id": 1, "result": ...} | {"id": 1, "error": {"code": "...", "message": "...", "traceback": "..."}}
What the module and its programs print never reaches the protocol: file descriptor 1 becomes 2 before anything is imported.
When stdin closes, whoever started this is gone: the whole process group ends.
Works with Python 3.8 and newer, standard library only.
"""

import ast
import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback
import types

# ---------------------------------------------------------------- scan: nothing of a file is run


def scan(request):
    """{"files": [path], "modules": [{"module": name, "folders": [path]}]} -> the same, read."""
    found = [scan_file(path) for path in request.get("files", [])]
    modules = []
    for wanted in request.get("modules", []):
        path = find_module(wanted["module"], wanted.get("folders", []))
        modules.append({"module": wanted["module"], "path": path, "file": scan_file(path) if path else None})
    return {"files": found, "modules": modules, "executable": sys.executable}


def find_module(name, folders):
    """The file of a module, found as an import would, without importing its packages."""
    parts = name.split(".")
    for folder in list(folders) + [entry for entry in sys.path if entry]:
        base = os.path.join(folder, *parts)
        for candidate in (base + ".py", os.path.join(base, "__init__.py")):
            if os.path.isfile(candidate):
                return os.path.realpath(candidate)
    return None


def scan_file(path):
    try:
        with open(path, "rb") as file:
            source = file.read()
        tree = ast.parse(source, path)
    except (OSError, SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        return {"path": path, "error": str(error), "line": line}
    functions = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = describe(node)
    return {
        "path": path,
        "functions": functions,
        "registrations": registrations(tree),
        "isScript": is_script(tree, source),
    }


def describe(node):
    decorators = [d for d in (registered_by(item) for item in node.decorator_list) if d]
    return {
        "line": node.lineno,
        "docstring": ast.get_docstring(node, clean=True),
        "docstringLine": docstring_line(node),
        "input": input_schema(node.args),
        "decorator": decorators[0] if decorators else None,
    }


def docstring_line(node):
    first = node.body[0] if node.body else None
    if not (isinstance(first, ast.Expr) and isinstance(getattr(first, "value", None), ast.Constant)):
        return node.lineno
    raw = first.value.value
    lead = len(raw) - len(raw.lstrip("\n")) if isinstance(raw, str) else 0
    return first.lineno + lead


def registered_by(node):
    """`@executor` and `@executor("name", ...)` of the modules hermes and nightshift."""
    call = node if isinstance(node, ast.Call) else None
    target = call.func if call else node
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
    if name != "executor":
        return None
    given = literal(call.args[0]) if call and call.args else None
    return {"name": given if isinstance(given, str) else None}


def registrations(tree):
    """Every `register_executor("name", function, bound=...)` whose name and values are written out."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        target = node.func
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
        if name != "register_executor":
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        label = literal(node.args[0]) if node.args else None
        function = getattr(node.args[1], "id", None) if len(node.args) > 1 else None
        bound, unread = {}, []
        for key, value in given.items():
            read = literal(value, UNREAD)
            if read is UNREAD:
                unread.append(key)
            else:
                bound[key] = read
        found.append(
            {"line": node.lineno, "name": label, "function": function, "bound": bound, "unread": unread}
        )
    return found


UNREAD = object()


def literal(node, otherwise=None):
    try:
        value = ast.literal_eval(node)
        json.dumps(value, allow_nan=False)
        return value
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return otherwise


QUIET = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def is_script(tree, source):
    """Whether running the file does something: a shebang, a main guard, or statements of its own."""
    if source.startswith(b"#!"):
        return True
    for node in tree.body:
        if isinstance(node, ast.Expr):
            value = node.value
            name = getattr(getattr(value, "func", None), "attr", getattr(getattr(value, "func", None), "id", None))
            if not isinstance(value, ast.Constant) and name != "register_executor":
                return True
        elif isinstance(node, ast.Try):
            continue
        elif isinstance(node, ast.If):
            if "__main__" in ast.dump(node.test):
                return True
        elif not isinstance(node, QUIET):
            return True
    return False


NAMES = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
    "List": "array", "Dict": "object", "Sequence": "array", "Mapping": "object", "tuple": "array", "Tuple": "array",
    "None": "null",
}


def input_schema(args):
    """JSON Schema of what a function takes by name; None where it takes anything."""
    if args.kwarg is not None or getattr(args, "posonlyargs", []):
        return None
    positional = list(args.args)
    required = [arg.arg for arg in positional[: len(positional) - len(args.defaults)]]
    defaults = dict(zip([arg.arg for arg in positional[len(positional) - len(args.defaults) :]], args.defaults))
    for arg, value in zip(args.kwonlyargs, args.kw_defaults):
        if value is None:
            required.append(arg.arg)
        else:
            defaults[arg.arg] = value
    properties = {}
    for arg in positional + list(args.kwonlyargs):
        schema = type_schema(arg.annotation) or {}
        value = literal(defaults[arg.arg], UNREAD) if arg.arg in defaults else UNREAD
        if value is not UNREAD and value is not None:
            schema = dict(schema, default=value)
        properties[arg.arg] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def type_schema(node):
    """As far as an annotation says it plainly; None where it does not."""
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        if node.value is None:
            return {"type": "null"}
        if isinstance(node.value, str):
            try:
                return type_schema(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                return None
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    if name is not None:
        return {"type": NAMES[name]} if name in NAMES else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return either([type_schema(node.left), type_schema(node.right)])
    if isinstance(node, ast.Subscript):
        return generic_schema(node)
    return None


def generic_schema(node):
    base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", None)
    inner = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if base == "Optional":
        return either([type_schema(parts[0]), {"type": "null"}])
    if base == "Union":
        return either([type_schema(part) for part in parts])
    if base == "Literal":
        values = [literal(part, UNREAD) for part in parts]
        return None if UNREAD in values else {"enum": values}
    if base in ("list", "List", "Sequence"):
        items = type_schema(parts[0])
        return {"type": "array", "items": items} if items else {"type": "array"}
    return {"type": NAMES[base]} if base in NAMES else None


def either(schemas):
    types_found = []
    for schema in schemas:
        if schema is None or set(schema) != {"type"}:
            return None
        types_found += schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {"type": types_found}


# ---------------------------------------------------------------- serve: one module, one call at a time


class Unavailable(Exception):
    """Raise it for what a later attempt may find working: `retry: {on: [unavailable]}`."""


class Worker:
    def __init__(self, answers):
        self.answers = answers
        self.lock = threading.Lock()
        self.registered = {}
        self.current = None

    def say(self, message):
        data = (json.dumps(message, allow_nan=False, ensure_ascii=True) + "\n").encode("ascii")
        with self.lock:
            self.answers.write(data)
            self.answers.flush()

    def tell(self, **fields):
        if self.current is not None:
            self.say(dict(fields, id=self.current["id"]))


class Told:
    """What a module prints goes to the live log of the call that is under way."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, worker, stream, raw):
        self.worker, self.stream, self.raw = worker, stream, raw
        self.waiting = ""

    def write(self, text):
        if self.worker.current is None:
            self.raw.write(str(text))
            return len(text)
        # A print comes in pieces: whole lines are told, or what has grown long.
        self.waiting += str(text)
        end = len(self.waiting) if len(self.waiting) > 8000 else self.waiting.rfind("\n") + 1
        if end > 0:
            self.tell_waiting(end)
        return len(text)

    def tell_waiting(self, end):
        told, self.waiting = self.waiting[:end], self.waiting[end:]
        if told:
            self.worker.tell(stream=self.stream, text=told)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if self.worker.current is not None:
            self.tell_waiting(len(self.waiting))
        self.raw.flush()

    def isatty(self):
        return False

    def writable(self):
        return True

    def readable(self):
        return False

    def fileno(self):
        return self.raw.fileno()

    @property
    def buffer(self):
        return self.raw.buffer


def offer_modules(worker):
    """`import hermes` and `import nightshift`, without anything to install."""

    def register_executor(name, function, **bound):
        worker.registered[name] = (function, bound)
        return function

    def executor(name=None, **_):
        if callable(name):
            worker.registered[name.__name__] = (name, {})
            return name

        def wrap(function):
            worker.registered[name or function.__name__] = (function, {})
            return function

        return wrap

    def call_facts():
        return dict(worker.current["call"]) if worker.current else {}

    for label in ("hermes", "nightshift"):
        module = types.ModuleType(label, "Executors of Nightshift: see docs/executors.md.")
        module.register_executor = register_executor
        module.executor = executor
        module.Unavailable = Unavailable
        module.touch = lambda activity="working": worker.tell(touch=str(activity))
        module.log = lambda text: worker.tell(stream="stdout", text=str(text) + "\n")
        module.emit = lambda kind, **data: worker.tell(emit=str(kind), data=data)
        module.call = call_facts
        sys.modules[label] = module


def load(target):
    """A file by its path, or a module by its name."""
    if target.get("path") is None:
        return importlib.import_module(target["module"])
    spec = importlib.util.spec_from_file_location(target["module"], target["path"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[target["module"]] = module
    spec.loader.exec_module(module)
    return module


def run(worker, module, request):
    name = request["function"]
    function, bound = worker.registered.get(name, (None, {}))
    if function is None:
        function = module
        for part in name.split("."):
            function = getattr(function, part, None)
    if not callable(function):
        raise LookupError("%s has no function %s" % (request["module"], name))
    params = dict(request["params"])
    params.update(bound)
    result = function(**params)
    if inspect.isawaitable(result):
        import asyncio

        async def wait():
            return await result

        result = asyncio.run(wait())
    return result


def answer(worker, get_module, request):
    old_env, old_cwd = dict(os.environ), os.getcwd()
    try:
        os.environ.update(request.get("env", {}))
        time.tzset()
        if request.get("cwd"):
            os.chdir(request["cwd"])
        worker.current = request
        result = run(worker, get_module(), request)
        try:
            done = json.dumps({"id": request["id"], "result": result}, allow_nan=False)
        except (TypeError, ValueError) as error:
            return {"id": request["id"], "error": {"code": "result", "message": "the result is no JSON: %s" % error}}
        return json.loads(done)
    except BaseException as error:  # noqa: B902 - also SystemExit: a function that calls sys.exit() has failed
        if isinstance(error, Ended):
            raise
        return {"id": request["id"], "error": described(error)}
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        worker.current = None
        os.environ.clear()
        os.environ.update(old_env)
        try:
            os.chdir(old_cwd)
        except OSError:
            os.chdir("/")


def described(error):
    code = "unavailable" if isinstance(error, Unavailable) else "exception"
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    name = type(error).__name__
    message = "%s: %s" % (name, error) if str(error) else name
    return {"code": code, "message": message, "traceback": text[-8000:]}


class Ended(BaseException):
    """We are asked to end: `finally` blocks of the function run, and nothing is answered."""


def end_group():
    """Whoever started this is gone, and with it everybody who could end what was started here."""
    try:
        os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(1)


def serve(target):
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = Worker(answers)
    sys.stdout = Told(worker, "stdout", sys.stdout)
    sys.stderr = Told(worker, "stderr", sys.stderr)
    offer_modules(worker)
    sys.path[0:0] = [folder for folder in target.get("folders", []) if folder not in sys.path]
    requests, arrived, queue = sys.stdin.buffer, threading.Semaphore(0), []

    def read():
        for line in iter(requests.readline, b""):
            queue.append(json.loads(line))
            arrived.release()
        end_group()

    threading.Thread(target=read, daemon=True).start()

    def on_term(_number, _frame):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Ended()

    signal.signal(signal.SIGTERM, on_term)
    loaded = {}

    def get_module():
        if "module" not in loaded:
            loaded["module"] = load(target)
        return loaded["module"]

    try:
        while True:
            arrived.acquire()
            worker.say(answer(worker, get_module, queue.pop(0)))
    except Ended:
        os._exit(143)


if __name__ == "__main__":
    if sys.argv[1] == "scan":
        json.dump(scan(json.load(sys.stdin)), sys.stdout)
    else:
        serve(json.loads(sys.argv[2]))
