import { callMethod, getMember } from "./builtIns.ts";
import type { Module, Modules } from "./modules.ts";
import { createScope, listChanged, listDeclared, ModuleScopes, type Scope } from "./scopes.ts";
import { getName, getNode, getNodes, type Node } from "./syntax.ts";
import { Closure, isFunction, isObject, lines, Native, type ObjectValue, Unknown, type Value } from "./values.ts";

/** Limits far above what a source with test cases needs. */
const mostSteps = 2_000_000;
const mostDepth = 150;

/** The completion of a statement that returns from its function. */
class Return {
  constructor(readonly value: Value) {}
}

/**
 * Evaluates sources without running them. Supports constants, functions, spreads, templates and the methods of arrays
 * and strings; everything else (network, files, classes, libraries) evaluates to an `Unknown` with the reason. For a
 * statement that passes a callback to an unknown function, such as a test runner's, the callback is evaluated.
 */
export class Evaluator {
  readonly #modules: ModuleScopes;
  #steps = 0;
  #depth = 0;

  /** @param given the values of imported names that a format defines, whatever module they are imported from */
  constructor(modules: Modules, given: Readonly<Record<string, Value>>) {
    this.#modules = new ModuleScopes(modules, given, {
      value: (node, scope) => this.#evaluate(node, scope),
      declare: (node, scope) => this.#declare(node, scope),
    });
  }

  /** Evaluates the statements of a module in order, so that the functions of the format are called. */
  run(module: Module & { kind: "module" }): void {
    const scope = this.#modules.get(module, true);
    for (const statement of getNodes(module.tree, "body")) {
      const declaration = getNode(statement, "declaration") ?? statement;
      // A declaration is evaluated now, unless it was needed earlier.
      const [name] = listDeclared(declaration);
      if (name !== undefined) scope.find(name);
      else if (statement.type === "ExportDefaultDeclaration") this.#evaluate(declaration, scope);
      else this.#execute(statement, scope);
    }
  }

  /** Evaluates an expression in the scope of a module. */
  evaluateIn(module: Module & { kind: "module" }, node: Node): Value {
    return this.#evaluate(node, this.#modules.get(module));
  }

  /** The value of a top-level name of a module, whether or not it is exported. */
  readName(module: Module & { kind: "module" }, name: string): Value {
    return this.#modules.get(module).find(name)?.value;
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
        this.#declare(statement, scope);
        return undefined;
      case "ReturnStatement":
        return new Return(this.#evaluate(getNode(statement, "argument"), scope));
      case "BlockStatement":
        return this.#executeAll(getNodes(statement, "body"), createScope(scope));
      case "IfStatement": {
        const test = this.#evaluate(getNode(statement, "test"), scope);
        if (test instanceof Unknown) {
          this.#forget(statement, scope);
          return new Return(test);
        }
        const branch = getNode(statement, test ? "consequent" : "alternate");
        return branch && this.#execute(branch, scope);
      }
      case "ForOfStatement":
        return this.#loop(statement, scope);
      default:
        this.#forget(statement, scope);
        return undefined;
    }
  }

  /** Makes the names that a statement changes unknown, because the statement is not evaluated. */
  #forget(statement: Node, scope: Scope): void {
    const { line } = statement.loc.start;
    for (const name of listChanged(statement))
      scope.set(name, new Unknown(`${name} is changed by a statement that is not worked out`, line));
  }

  #executeAll(statements: readonly Node[], scope: Scope): Return | undefined {
    // Function declarations are hoisted.
    const isFunctionDeclaration = ({ type }: Node) => type === "FunctionDeclaration";
    for (const one of statements.filter(isFunctionDeclaration)) this.#declare(one, scope);
    for (const statement of statements) {
      const end = isFunctionDeclaration(statement) ? undefined : this.#execute(statement, scope);
      if (end) return end;
    }
    return undefined;
  }

  #loop(statement: Node, scope: Scope): Return | undefined {
    const items = this.#evaluate(getNode(statement, "right"), scope);
    const [left, body] = [getNode(statement, "left"), getNode(statement, "body")];
    const target = getNodes(left ?? statement, "declarations")[0];
    if (!Array.isArray(items) || !target || !body) {
      this.#forget(statement, scope);
      return undefined;
    }
    for (const item of items) {
      const inner = createScope(scope);
      this.#bind(getNode(target, "id"), item, inner);
      const end = this.#execute(body, inner);
      if (end) return end;
    }
    return undefined;
  }

  /** Evaluates the callbacks of a call, such as one of a test runner, once, with unknown parameters. */
  #enterCallbacks(call: Node, scope: Scope): void {
    for (const argument of getNodes(call, "arguments")) {
      const value = this.#evaluate(argument, scope);
      if (!(value instanceof Closure)) continue;
      const { line } = argument.loc.start;
      value.call(getNodes(value.node, "params").map(() => new Unknown("a parameter of a test runner", line)));
    }
  }

  #declare(declaration: Node, scope: Scope): void {
    if (declaration.type === "VariableDeclaration") {
      for (const one of getNodes(declaration, "declarations"))
        this.#bind(getNode(one, "id"), this.#evaluate(getNode(one, "init"), scope), scope);
      return;
    }
    for (const name of listDeclared(declaration)) scope.declare(name, this.#evaluate(declaration, scope));
  }

  #bind(pattern: Node | undefined, value: Value, scope: Scope): void {
    if (pattern?.type === "Identifier") scope.declare(getName(pattern) ?? "", value);
    else if (pattern?.type === "ObjectPattern") this.#bindMembers(pattern, value, scope);
    else if (pattern?.type === "AssignmentPattern") {
      const given = value === undefined ? this.#evaluate(getNode(pattern, "right"), scope) : value;
      this.#bind(getNode(pattern, "left"), given, scope);
    } else if (pattern?.type === "ArrayPattern") {
      for (const [at, item] of ((pattern.elements ?? []) as (Node | null)[]).entries()) {
        const rest = Array.isArray(value) ? value.slice(at) : value;
        if (item?.type === "RestElement") this.#bind(getNode(item, "argument"), rest, scope);
        else if (item) this.#bind(item, getMember(value, at, pattern.loc.start.line), scope);
      }
    }
  }

  #bindMembers(pattern: Node, value: Value, scope: Scope): void {
    const taken = new Set<string>();
    for (const property of getNodes(pattern, "properties")) {
      if (property.type === "RestElement") {
        const left = (object: ObjectValue) => Object.entries(object).filter(([key]) => !taken.has(key));
        this.#bind(getNode(property, "argument"), isObject(value) ? Object.fromEntries(left(value)) : value, scope);
        continue;
      }
      const key = this.#keyOf(property, scope);
      if (typeof key !== "string") continue;
      taken.add(key);
      this.#bind(getNode(property, "value"), getMember(value, key, property.loc.start.line), scope);
    }
  }

  /** The key of a property in an object or a pattern, or of a member access. */
  #keyOf(node: Node, scope: Scope): string | Unknown {
    const key = getNode(node, "key") ?? getNode(node, "property");
    if (node.computed !== true) return String(getName(key) ?? key?.value);
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
      case "MemberExpression": {
        const object = this.#evaluate(getNode(node, "object"), scope);
        const key = this.#keyOf(node, scope);
        if (key instanceof Unknown) return key;
        const isSkipped = node.optional === true && (object === undefined || object === null);
        return isSkipped ? undefined : getMember(object, key, line);
      }
      case "CallExpression":
        return this.#call(node, scope);
      case "AwaitExpression":
        return this.#evaluate(getNode(node, "argument"), scope);
      case "ConditionalExpression": {
        const test = this.#evaluate(getNode(node, "test"), scope);
        return test instanceof Unknown ? test : this.#evaluate(getNode(node, test ? "consequent" : "alternate"), scope);
      }
      case "LogicalExpression": {
        const left = this.#evaluate(getNode(node, "left"), scope);
        if (left instanceof Unknown) return left;
        const right = () => this.#evaluate(getNode(node, "right"), scope);
        if (node.operator === "??") return left ?? right();
        return node.operator === "||" ? left || right() : left && right();
      }
      case "BinaryExpression":
      case "UnaryExpression":
        return this.#operate(node, scope);
      case "AssignmentExpression":
        return this.#assign(node, scope);
      case "TSEnumDeclaration": {
        const members = getNodes(node, "members");
        const read = (member: Node) => this.#evaluate(getNode(member, "initializer"), scope);
        return Object.fromEntries(members.map((one, at) => [getName(getNode(one, "id")) ?? "", read(one) ?? at]));
      }
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

  /** Evaluates the items of an array or the arguments of a call. */
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

  #call(node: Node, scope: Scope): Value {
    const callee = unwrap(getNode(node, "callee"));
    const { line } = node.loc.start;
    const args = this.#list(getNodes(node, "arguments"), scope);
    if (callee?.type === "MemberExpression") {
      const object = this.#evaluate(getNode(callee, "object"), scope);
      const name = this.#keyOf(callee, scope);
      if (typeof name !== "string") return name;
      const member = isObject(object) || object instanceof Native ? getMember(object, name, line) : undefined;
      return isFunction(member) ? member.call(args, line) : callMethod(object, name, args, line);
    }
    const called = this.#evaluate(callee, scope);
    return isFunction(called) ? called.call(args, line) : asUnknown(called, "a call of no function", node);
  }

  #operate(node: Node, scope: Scope): Value {
    const operands = ["left", "right", "argument"].flatMap((key) => getNode(node, key) ?? []);
    const values = operands.map((one) => this.#evaluate(one, scope));
    const unknown = values.find((value) => value instanceof Unknown);
    const operate = operators[`${node.operator}${values.length}`];
    return unknown ?? operate?.(values[0] as number, values[1] as number) ?? noOperator(node);
  }

  #assign(node: Node, scope: Scope): Value {
    const target = getNode(node, "left");
    const value = node.operator === "=" ? this.#evaluate(getNode(node, "right"), scope) : noOperator(node);
    if (target?.type === "MemberExpression") {
      const object = this.#evaluate(getNode(target, "object"), scope);
      const key = this.#keyOf(target, scope);
      if (isObject(object) && typeof key === "string") define(object, key, value);
      else this.#forget(node, scope);
    } else scope.set(getName(target) ?? "", value);
    return value;
  }
}

/** The operators, by sign and number of operands. A result is never undefined. */
const operators: Readonly<Record<string, (a: number, b: number) => Value>> = {
  "+2": (a, b) => a + b,
  "-2": (a, b) => a - b,
  "*2": (a, b) => a * b,
  "/2": (a, b) => a / b,
  "%2": (a, b) => a % b,
  "===2": (a, b) => a === b,
  "!==2": (a, b) => a !== b,
  "<2": (a, b) => a < b,
  "<=2": (a, b) => a <= b,
  ">2": (a, b) => a > b,
  ">=2": (a, b) => a >= b,
  "-1": (a) => -a,
  "!1": (a) => !a,
};

const noOperator = (node: Node) => new Unknown(`the operator ${node.operator} is not worked out`, node.loc.start.line);

/** Sets a member of an object, even one named `__proto__`. */
function define(object: ObjectValue, key: string, value: Value): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

const wrappers: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "ChainExpression",
  "TSInstantiationExpression",
]);

/** Removes optional chaining and type syntax around an expression. The parser keeps no parentheses. */
function unwrap(node: Node | undefined): Node | undefined {
  let inner = node;
  while (inner && wrappers.has(inner.type)) inner = getNode(inner, "expression");
  return inner;
}

function readLiteral(node: Node): Value {
  const { value } = node as { value?: Value };
  // A new one each time, because one with the flag g has a state.
  if (value instanceof RegExp) return new RegExp(value);
  // The parser has no value for a pattern that this version of Node cannot compile.
  if ("regex" in node) return new Unknown("an invalid regular expression", node.loc.start.line);
  return typeof value === "bigint" ? Number(value) : value;
}

function asUnknown(value: Value, reason: string, node: Node): Unknown {
  return value instanceof Unknown ? value : new Unknown(reason, node.loc.start.line);
}
