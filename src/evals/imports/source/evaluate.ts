import { builtIns, callMethod, getMember } from "./builtIns.ts";
import type { Module, Modules } from "./modules.ts";
import { getName, getNode, getNodes, type Node } from "./syntax.ts";
import {
  Closure,
  fromJson,
  isFunction,
  isObject,
  lines,
  Native,
  type ObjectValue,
  Unknown,
  type Value,
} from "./values.ts";

/** What a format gives a meaning to: an imported name, by its name and where it comes from. */
export type Externals = (name: string, specifier: string) => Value | undefined;

/** Sources are small; one that takes more is not what a person wrote. */
const mostSteps = 2_000_000;
const mostDepth = 150;

type Scope = { find(name: string): { value: Value } | undefined; set(name: string, value: Value): boolean };

/** Ends the evaluation of a function. */
class Return {
  constructor(readonly value: Value) {}
}

/**
 * Evaluates sources without running them: constants, functions, spreads, templates and the methods of arrays and strings
 * are worked out, and everything else (the network, files, classes, libraries) is an `Unknown` with its reason. Statements
 * that call an unknown function with a callback, as test runners do, evaluate the callback.
 */
export class Evaluator {
  readonly #modules: Modules;
  readonly #externals: Externals;
  readonly #exports = new Map<string, (name: string) => Value | undefined>();
  readonly #scopes = new Map<string, Scope>();
  #steps = 0;
  #depth = 0;

  constructor(modules: Modules, externals: Externals) {
    this.#modules = modules;
    this.#externals = externals;
  }

  /** Evaluates the statements of a module in their order, so that the functions of the format are called. */
  run(module: Module & { kind: "module" }): void {
    const scope = this.#scopeOf(module);
    for (const statement of getNodes(module.tree, "body")) {
      if (statement.type === "ExportDefaultDeclaration") this.#evaluate(getNode(statement, "declaration"), scope);
      else this.#execute(statement, scope);
    }
  }

  /** Evaluates an expression of a module, in the scope of the module. */
  evaluateIn(module: Module & { kind: "module" }, node: Node): Value {
    return this.#evaluate(node, this.#scopeOf(module));
  }

  /** The exported value of a module; undefined where it exports no such name. */
  readExport(module: Module, name: string): Value | undefined {
    if (module.kind === "json") return name === "default" ? fromJson(module.data) : undefined;
    const known = this.#exports.get(module.path) ?? this.#indexExports(module);
    this.#exports.set(module.path, known);
    return known(name);
  }

  #indexExports(module: Module & { kind: "module" }): (name: string) => Value | undefined {
    const own = new Map<string, () => Value | undefined>();
    const stars: string[] = [];
    const scope = () => this.#scopeOf(module);
    for (const statement of getNodes(module.tree, "body")) {
      const source = getName(getNode(statement, "source"));
      const declaration = getNode(statement, "declaration");
      if (statement.type === "ExportAllDeclaration" && source !== undefined) stars.push(source);
      if (statement.type === "ExportDefaultDeclaration") own.set("default", () => this.#evaluate(declaration, scope()));
      if (statement.type !== "ExportNamedDeclaration") continue;
      for (const name of declaration ? listDeclared(declaration) : []) own.set(name, () => scope().find(name)?.value);
      for (const specifier of getNodes(statement, "specifiers")) {
        const local = getName(getNode(specifier, "local")) ?? "";
        const read =
          source === undefined ? () => scope().find(local)?.value : () => this.#import(local, source, module);
        own.set(getName(getNode(specifier, "exported")) ?? local, read);
      }
    }
    return (name) => {
      const found = own.get(name);
      if (found) return found();
      for (const star of stars) {
        const target = this.#modules.resolve(star, module.path);
        const value = typeof target === "string" ? undefined : this.readExport(target, name);
        if (value !== undefined) return value;
      }
      return undefined;
    };
  }

  #import(name: string, specifier: string, from: Module): Value {
    const given = this.#externals(name, specifier);
    if (given !== undefined) return given;
    const target = this.#modules.resolve(specifier, from.path);
    if (typeof target === "string") return new Unknown(`${name} of ${specifier} is not known: ${target}`, 1);
    if (name === "*")
      return new Native(
        specifier,
        () => undefined,
        (member) => this.readExport(target, member),
      );
    return this.readExport(target, name) ?? new Unknown(`${specifier} exports no ${name}`, 1);
  }

  /** The names of a module, each evaluated when it is first needed. */
  #scopeOf(module: Module & { kind: "module" }): Scope {
    const known = this.#scopes.get(module.path);
    if (known) return known;
    const pending = new Map<string, () => Value>();
    const values = new Map<string, Value>();
    const scope: Scope = {
      find: (name) => {
        const make = pending.get(name);
        if (make) {
          pending.delete(name);
          values.set(name, new Unknown(`${name} depends on itself`, 1));
          values.set(name, make());
        }
        if (values.has(name)) return { value: values.get(name) };
        return Object.hasOwn(builtIns, name) ? { value: builtIns[name] } : undefined;
      },
      set: (name, value) => {
        if (!values.has(name) && !pending.has(name)) return false;
        pending.delete(name);
        values.set(name, value);
        return true;
      },
    };
    this.#scopes.set(module.path, scope);
    for (const statement of getNodes(module.tree, "body")) {
      if (statement.type === "ImportDeclaration") {
        const source = getName(getNode(statement, "source")) ?? "";
        for (const specifier of getNodes(statement, "specifiers")) {
          const local = getName(getNode(specifier, "local")) ?? "";
          const imported =
            specifier.type === "ImportNamespaceSpecifier" ? "*" : getName(getNode(specifier, "imported"));
          pending.set(local, () => this.#import(imported ?? "default", source, module));
        }
        continue;
      }
      const declaration = getNode(statement, "declaration") ?? statement;
      for (const name of listDeclared(declaration))
        pending.set(name, () => {
          const inner = createScope(scope);
          this.#declare(declaration, inner);
          for (const other of listDeclared(declaration))
            if (other !== name) values.set(other, inner.find(other)?.value);
          return inner.find(name)?.value;
        });
    }
    return scope;
  }

  #execute(statement: Node, scope: Scope): Return | undefined {
    switch (statement.type) {
      case "ExpressionStatement": {
        const expression = unwrap(getNode(statement, "expression"));
        const value = this.#evaluate(expression, scope);
        if (value instanceof Unknown && expression?.type === "CallExpression") this.#enterCallbacks(expression, scope);
        return undefined;
      }
      case "VariableDeclaration":
      case "FunctionDeclaration":
      case "ClassDeclaration":
      case "TSEnumDeclaration":
        for (const name of listDeclared(statement)) if (scope.find(name)) return undefined;
        this.#declare(statement, scope as LocalScope);
        return undefined;
      case "ReturnStatement":
        return new Return(this.#evaluate(getNode(statement, "argument"), scope));
      case "BlockStatement":
        return this.#executeAll(getNodes(statement, "body"), createScope(scope));
      case "IfStatement": {
        const test = this.#evaluate(getNode(statement, "test"), scope);
        if (test instanceof Unknown) return new Return(test);
        const branch = getNode(statement, isTruthy(test) ? "consequent" : "alternate");
        return branch && this.#execute(branch, scope);
      }
      case "ForOfStatement":
        return this.#loop(statement, scope);
      default:
        return undefined;
    }
  }

  #executeAll(statements: readonly Node[], scope: Scope): Return | undefined {
    // Functions can be called before they are declared.
    for (const one of statements) if (one.type === "FunctionDeclaration") this.#declare(one, scope as LocalScope);
    for (const statement of statements) {
      if (statement.type === "FunctionDeclaration") continue;
      const isLocal = statement.type === "VariableDeclaration";
      const end = isLocal ? this.#declare(statement, scope as LocalScope) : this.#execute(statement, scope);
      if (end) return end;
    }
    return undefined;
  }

  #loop(statement: Node, scope: Scope): Return | undefined {
    const items = this.#evaluate(getNode(statement, "right"), scope);
    const [left, body] = [getNode(statement, "left"), getNode(statement, "body")];
    const target = getNodes(left ?? statement, "declarations")[0];
    if (!Array.isArray(items) || !target || !body) return undefined;
    for (const item of items) {
      const inner = createScope(scope);
      this.#bind(getNode(target, "id"), item, inner);
      const end = this.#execute(body, inner);
      if (end) return end;
    }
    return undefined;
  }

  /** A call of a test runner: what its callbacks do is done once, with parameters that are not known. */
  #enterCallbacks(call: Node, scope: Scope): void {
    for (const argument of getNodes(call, "arguments")) {
      const value = this.#evaluate(argument, scope);
      if (!(value instanceof Closure)) continue;
      const parameters = getNodes(value.node, "params").map(
        () => new Unknown("a parameter of a test runner", argument.loc.start.line),
      );
      value.call(parameters);
    }
  }

  #declare(declaration: Node, scope: LocalScope): undefined {
    if (declaration.type === "VariableDeclaration") {
      for (const one of getNodes(declaration, "declarations")) {
        this.#bind(getNode(one, "id"), this.#evaluate(getNode(one, "init"), scope), scope);
      }
      return undefined;
    }
    const name = getName(getNode(declaration, "id"));
    if (name !== undefined) scope.declare(name, this.#evaluate(declaration, scope));
    return undefined;
  }

  #bind(pattern: Node | undefined, value: Value, scope: LocalScope): void {
    if (!pattern) return;
    const line = pattern.loc.start.line;
    if (pattern.type === "Identifier") scope.declare(getName(pattern) ?? "", value);
    else if (pattern.type === "AssignmentPattern")
      this.#bind(
        getNode(pattern, "left"),
        value === undefined ? this.#evaluate(getNode(pattern, "right"), scope) : value,
        scope,
      );
    else if (pattern.type === "ObjectPattern") this.#bindMembers(pattern, value, scope);
    else if (pattern.type === "ArrayPattern") {
      const items = Array.isArray(pattern.elements) ? (pattern.elements as (Node | null)[]) : [];
      for (const [at, item] of items.entries()) {
        if (item?.type === "RestElement")
          this.#bind(getNode(item, "argument"), Array.isArray(value) ? value.slice(at) : value, scope);
        else if (item) this.#bind(item, getMember(value, at, line), scope);
      }
    }
  }

  #bindMembers(pattern: Node, value: Value, scope: LocalScope): void {
    const taken = new Set<string>();
    for (const property of getNodes(pattern, "properties")) {
      if (property.type === "RestElement") {
        const rest = isObject(value)
          ? Object.fromEntries(Object.entries(value).filter(([key]) => !taken.has(key)))
          : value;
        this.#bind(getNode(property, "argument"), rest, scope);
        continue;
      }
      const key = this.#keyOf(property, scope);
      if (typeof key !== "string") continue;
      taken.add(key);
      this.#bind(getNode(property, "value"), getMember(value, key, property.loc.start.line), scope);
    }
  }

  #keyOf(property: Node, scope: Scope): string | Unknown {
    const key = getNode(property, "key");
    if (property.computed !== true) return String(key?.type === "Identifier" ? key.name : key?.value);
    const value = this.#evaluate(key, scope);
    return value instanceof Unknown ? value : String(value);
  }

  #evaluate(given: Node | undefined, scope: Scope): Value {
    const node = unwrap(given);
    if (!node) return undefined;
    const { line } = node.loc.start;
    if (++this.#steps > mostSteps) return new Unknown("the source takes too many steps to work out", line);
    switch (node.type) {
      case "Literal":
        return readLiteral(node);
      case "TemplateLiteral":
        return this.#template(node, scope);
      case "Identifier": {
        const name = getName(node) ?? "";
        if (name === "undefined") return undefined;
        const found = scope.find(name);
        return found ? found.value : new Unknown(`${name} is not known without running the source`, line);
      }
      case "ArrayExpression":
        return this.#list(getNodes(node, "elements"), scope);
      case "ObjectExpression":
        return this.#object(node, scope);
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return this.#closure(node, scope);
      case "MemberExpression":
        return this.#member(node, scope);
      case "CallExpression":
        return this.#call(node, scope);
      case "AwaitExpression":
        return this.#evaluate(getNode(node, "argument"), scope);
      case "ConditionalExpression": {
        const test = this.#evaluate(getNode(node, "test"), scope);
        if (test instanceof Unknown) return test;
        return this.#evaluate(getNode(node, isTruthy(test) ? "consequent" : "alternate"), scope);
      }
      case "LogicalExpression":
        return this.#logical(node, scope);
      case "BinaryExpression":
        return this.#binary(node, scope);
      case "UnaryExpression": {
        const value = this.#evaluate(getNode(node, "argument"), scope);
        if (value instanceof Unknown) return value;
        if (node.operator === "-") return -Number(value);
        if (node.operator === "!") return !isTruthy(value);
        return node.operator === "void" ? undefined : new Unknown(`the operator ${node.operator}`, line);
      }
      case "AssignmentExpression":
        return this.#assign(node, scope);
      case "TSEnumDeclaration":
        return this.#enumeration(node, scope);
      case "NewExpression":
        return new Unknown(`new ${getName(getNode(node, "callee")) ?? "..."}(...) is not run`, line);
      default:
        return new Unknown(`${node.type} is not worked out`, line);
    }
  }

  #template(node: Node, scope: Scope): Value {
    const values = getNodes(node, "expressions").map((one) => this.#evaluate(one, scope));
    const unknown = values.find((value) => value instanceof Unknown);
    if (unknown) return unknown;
    const texts = getNodes(node, "quasis").map(({ value }) => (value as { cooked?: string }).cooked ?? "");
    return texts.map((text, at) => text + (at < values.length ? String(values[at]) : "")).join("");
  }

  #list(nodes: readonly Node[], scope: Scope): Value[] {
    return nodes.flatMap((node) => {
      if (node.type !== "SpreadElement") return [this.#evaluate(node, scope)];
      const value = this.#evaluate(getNode(node, "argument"), scope);
      return Array.isArray(value) ? value : [asUnknown(value, "a spread of no list", node)];
    });
  }

  #object(node: Node, scope: Scope): Value {
    const object: ObjectValue = {};
    lines.set(object, node.loc.start.line);
    for (const property of getNodes(node, "properties")) {
      if (property.type === "SpreadElement") {
        const value = this.#evaluate(getNode(property, "argument"), scope);
        if (value instanceof Unknown) object[`...${Object.keys(object).length}`] = value;
        else if (isObject(value)) for (const [key, one] of Object.entries(value)) define(object, key, one);
        continue;
      }
      const key = this.#keyOf(property, scope);
      if (typeof key !== "string") return key;
      define(object, key, this.#evaluate(getNode(property, "value"), scope));
    }
    return object;
  }

  #closure(node: Node, scope: Scope): Closure {
    return new Closure(node, (args) => {
      const inner = createScope(scope);
      for (const [at, parameter] of getNodes(node, "params").entries()) {
        const isRest = parameter.type === "RestElement";
        this.#bind(isRest ? getNode(parameter, "argument") : parameter, isRest ? [...args.slice(at)] : args[at], inner);
      }
      const body = getNode(node, "body");
      if (!body || this.#depth >= mostDepth)
        return new Unknown("functions call each other too deeply", node.loc.start.line);
      this.#depth++;
      try {
        if (body.type !== "BlockStatement") return this.#evaluate(body, inner);
        return this.#executeAll(getNodes(body, "body"), inner)?.value;
      } finally {
        this.#depth--;
      }
    });
  }

  #member(node: Node, scope: Scope): Value {
    const object = this.#evaluate(getNode(node, "object"), scope);
    const property = getNode(node, "property");
    const key = node.computed === true ? this.#evaluate(property, scope) : getName(property);
    if (key instanceof Unknown) return key;
    if (node.optional === true && (object === undefined || object === null)) return undefined;
    return getMember(object, typeof key === "number" ? key : String(key), node.loc.start.line);
  }

  #call(node: Node, scope: Scope): Value {
    const callee = unwrap(getNode(node, "callee"));
    const { line } = node.loc.start;
    const args = this.#list(getNodes(node, "arguments"), scope);
    if (callee?.type === "MemberExpression") {
      const object = this.#evaluate(getNode(callee, "object"), scope);
      const name =
        callee.computed === true
          ? this.#evaluate(getNode(callee, "property"), scope)
          : getName(getNode(callee, "property"));
      if (typeof name !== "string") return asUnknown(name, "a computed method", node);
      const member = isObject(object) || object instanceof Native ? getMember(object, name, line) : undefined;
      if (isFunction(member)) return member.call(args, line);
      return callMethod(object, name, args, line);
    }
    const called = this.#evaluate(callee, scope);
    if (isFunction(called)) return called.call(args, line);
    return asUnknown(called, "a call of no function", node);
  }

  #logical(node: Node, scope: Scope): Value {
    const left = this.#evaluate(getNode(node, "left"), scope);
    if (left instanceof Unknown) return left;
    const right = () => this.#evaluate(getNode(node, "right"), scope);
    if (node.operator === "??") return left ?? right();
    return (node.operator === "||") === isTruthy(left) ? left : right();
  }

  #binary(node: Node, scope: Scope): Value {
    const left = this.#evaluate(getNode(node, "left"), scope);
    const right = this.#evaluate(getNode(node, "right"), scope);
    const unknown = [left, right].find((value) => value instanceof Unknown);
    if (unknown) return unknown;
    const [a, b] = [left as number, right as number];
    switch (node.operator) {
      case "+":
        return a + b;
      case "-":
        return a - b;
      case "*":
        return a * b;
      case "/":
        return a / b;
      case "%":
        return a % b;
      case "===":
      case "==":
        return left === right;
      case "!==":
      case "!=":
        return left !== right;
      case "<":
        return a < b;
      case "<=":
        return a <= b;
      case ">":
        return a > b;
      case ">=":
        return a >= b;
      default:
        return new Unknown(`the operator ${node.operator}`, node.loc.start.line);
    }
  }

  #assign(node: Node, scope: Scope): Value {
    const target = getNode(node, "left");
    const value = this.#evaluate(getNode(node, "right"), scope);
    if (target?.type === "MemberExpression" && node.operator === "=") {
      const object = this.#evaluate(getNode(target, "object"), scope);
      const property = getNode(target, "property");
      const key = target.computed === true ? this.#evaluate(property, scope) : getName(property);
      if (isObject(object) && (typeof key === "string" || typeof key === "number")) define(object, String(key), value);
      return value;
    }
    const name = getName(target);
    const isPlain = node.operator === "=";
    const result = isPlain ? value : new Unknown(`the operator ${node.operator}`, node.loc.start.line);
    if (name !== undefined) scope.set(name, result);
    return result;
  }

  #enumeration(node: Node, scope: Scope): Value {
    const members = getNodes(getNode(node, "body") ?? node, "members");
    return Object.fromEntries(
      members.map((member, at) => {
        const init = getNode(member, "initializer");
        return [getName(getNode(member, "id")) ?? "", init ? this.#evaluate(init, scope) : at];
      }),
    );
  }
}

type LocalScope = Scope & { declare(name: string, value: Value): void };

function createScope(parent: Scope): LocalScope {
  const own = new Map<string, Value>();
  return {
    find: (name) => (own.has(name) ? { value: own.get(name) } : parent.find(name)),
    set: (name, value) => {
      if (!own.has(name)) return parent.set(name, value);
      own.set(name, value);
      return true;
    },
    declare: (name, value) => void own.set(name, value),
  };
}

/** A member called `__proto__` is one like any other. */
function define(object: ObjectValue, key: string, value: Value): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

const wrappers: ReadonlySet<string> = new Set([
  "ParenthesizedExpression",
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "ChainExpression",
  "TSInstantiationExpression",
]);

/** An expression without its types and brackets. */
function unwrap(node: Node | undefined): Node | undefined {
  let inner = node;
  while (inner && wrappers.has(inner.type)) inner = getNode(inner, "expression");
  return inner;
}

function listDeclared(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration")
    return getNodes(declaration, "declarations").flatMap((one) => listNames(getNode(one, "id")));
  if (!["FunctionDeclaration", "ClassDeclaration", "TSEnumDeclaration"].includes(declaration.type)) return [];
  return listNames(getNode(declaration, "id"));
}

function listNames(pattern: Node | undefined): string[] {
  if (!pattern) return [];
  if (pattern.type === "Identifier") return [getName(pattern) ?? ""];
  const inner =
    getNode(pattern, "argument") ??
    getNode(pattern, "left") ??
    (pattern.type === "Property" ? getNode(pattern, "value") : undefined);
  return [...(inner ? [inner] : []), ...getNodes(pattern, "properties"), ...getNodes(pattern, "elements")].flatMap(
    listNames,
  );
}

function readLiteral(node: Node): Value {
  const { regex, value } = node as { regex?: { pattern: string; flags: string }; value?: Value };
  if (!regex) return typeof value === "bigint" ? Number(value) : value;
  try {
    return new RegExp(regex.pattern, regex.flags);
  } catch {
    return new Unknown("an invalid regular expression", node.loc.start.line);
  }
}

const isTruthy = (value: Value) => Boolean(value);

function asUnknown(value: Value, reason: string, node: Node): Unknown {
  return value instanceof Unknown ? value : new Unknown(reason, node.loc.start.line);
}
