import { builtIns } from "./builtIns.ts";
import type { Module, Modules } from "./modules.ts";
import { getName, getNode, getNodes, type Node, walkNodes } from "./syntax.ts";
import { Native, Unknown, type Value } from "./values.ts";

/** The names that an expression can use. `set` returns false if there is no such name. */
export type Scope = {
  find(name: string): { value: Value } | undefined;
  set(name: string, value: Value): boolean;
  declare(name: string, value: Value): void;
};

/** Creates the scope of a function or a block. */
export function createScope(parent: Scope): Scope {
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

type Source = Module & { kind: "module" };

/** Functions of the evaluator: `value` evaluates an expression, `declare` declares the names of a declaration. */
type Evaluate = { value(node: Node | undefined, scope: Scope): Value; declare(node: Node, scope: Scope): void };

/** The names and exports of modules. A name is evaluated on first use. */
export class ModuleScopes {
  readonly #modules: Modules;
  readonly #given: Readonly<Record<string, Value>>;
  readonly #evaluate: Evaluate;
  readonly #scopes = new Map<string, Scope>();
  readonly #exports = new Map<string, (name: string) => Value | undefined>();

  /** @param given values of imported names, which override what the modules of the repository export */
  constructor(modules: Modules, given: Readonly<Record<string, Value>>, evaluate: Evaluate) {
    this.#modules = modules;
    this.#given = given;
    this.#evaluate = evaluate;
  }

  /**
   * @param isRun whether the statements of the module are evaluated too; otherwise the names that they change are
   * unknown
   */
  get(module: Source, isRun = false): Scope {
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
        scope.declare(name, value);
        return true;
      },
      declare: (name, value) => {
        pending.delete(name);
        values.set(name, value);
      },
    };
    this.#scopes.set(module.path, scope);
    for (const statement of getNodes(module.tree, "body")) {
      for (const [local, read] of this.#listImports(statement, module)) pending.set(local, read);
      const declaration = getNode(statement, "declaration") ?? statement;
      const names = listDeclared(declaration);
      const declare = () => {
        for (const name of names) pending.delete(name);
        this.#evaluate.declare(declaration, scope);
      };
      for (const name of names)
        pending.set(name, () => {
          declare();
          return values.get(name);
        });
      for (const name of isRun || names.length > 0 ? [] : listChanged(statement))
        scope.set(name, new Unknown(`${name} is changed after its declaration`, statement.loc.start.line));
    }
    return scope;
  }

  #listImports(statement: Node, module: Source): [string, () => Value][] {
    if (statement.type !== "ImportDeclaration") return [];
    const source = getName(getNode(statement, "source")) ?? "";
    return getNodes(statement, "specifiers").map((specifier) => {
      const local = getName(getNode(specifier, "local")) ?? "";
      const isAll = specifier.type === "ImportNamespaceSpecifier";
      const name = isAll ? "*" : (getName(getNode(specifier, "imported")) ?? "default");
      return [local, () => this.#import(name, source, module)];
    });
  }

  #import(name: string, specifier: string, from: Module): Value {
    if (Object.hasOwn(this.#given, name)) return this.#given[name];
    const target = this.#modules.resolve(specifier, from.path);
    if (typeof target === "string") return new Unknown(`${name} of ${specifier} is not known: ${target}`, 1);
    const read = (member: string) => this.#readExport(target, member);
    if (name === "*") return new Native(specifier, () => undefined, read);
    return read(name) ?? new Unknown(`${specifier} exports no ${name}`, 1);
  }

  #readExport(module: Module, name: string): Value | undefined {
    if (module.kind === "json") return name === "default" ? module.data : undefined;
    const known = this.#exports.get(module.path) ?? this.#indexExports(module);
    this.#exports.set(module.path, known);
    return known(name);
  }

  #indexExports(module: Source): (name: string) => Value | undefined {
    const own = new Map<string, () => Value | undefined>();
    const stars: string[] = [];
    const readLocal = (name: string) => this.get(module).find(name)?.value;
    for (const statement of getNodes(module.tree, "body")) {
      const source = getName(getNode(statement, "source"));
      const declaration = getNode(statement, "declaration");
      if (statement.type === "ExportAllDeclaration" && source !== undefined) stars.push(source);
      if (statement.type === "ExportDefaultDeclaration")
        own.set("default", () => this.#evaluate.value(declaration, this.get(module)));
      if (statement.type !== "ExportNamedDeclaration") continue;
      for (const name of declaration ? listDeclared(declaration) : []) own.set(name, () => readLocal(name));
      for (const specifier of getNodes(statement, "specifiers")) {
        const local = getName(getNode(specifier, "local")) ?? "";
        const read = () => (source === undefined ? readLocal(local) : this.#import(local, source, module));
        own.set(getName(getNode(specifier, "exported")) ?? local, read);
      }
    }
    return (name) => {
      const found = own.get(name);
      if (found) return found();
      for (const star of stars) {
        const target = this.#modules.resolve(star, module.path);
        const value = typeof target === "string" ? undefined : this.#readExport(target, name);
        if (value !== undefined) return value;
      }
      return undefined;
    };
  }
}

/** The names that a statement may change: by assignment, or by calling a method on them. */
export function listChanged(statement: Node): string[] {
  const targets = [...walkNodes(statement)].flatMap((node) => {
    const callee = node.type === "CallExpression" ? getNode(node, "callee") : undefined;
    if (callee) return callee.type === "MemberExpression" ? (getNode(callee, "object") ?? []) : [];
    if (node.type === "AssignmentExpression") return getNode(node, "left") ?? [];
    return node.type === "UpdateExpression" ? (getNode(node, "argument") ?? []) : [];
  });
  return targets.flatMap((target) => {
    let root: Node | undefined = target;
    while (root?.type === "MemberExpression") root = getNode(root, "object");
    return listNames(root);
  });
}

/** The names that a declaration declares; none for another statement. */
export function listDeclared(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration")
    return getNodes(declaration, "declarations").flatMap((one) => listNames(getNode(one, "id")));
  const isNamed = ["FunctionDeclaration", "ClassDeclaration", "TSEnumDeclaration"].includes(declaration.type);
  return isNamed ? listNames(getNode(declaration, "id")) : [];
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
