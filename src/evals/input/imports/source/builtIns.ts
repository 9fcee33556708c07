import {
  findUnknown,
  isFunction,
  isObject,
  Marker,
  Native,
  type ObjectValue,
  toJson,
  Unknown,
  type Value,
} from "./values.ts";

/** The member of a value; an `Unknown` if it cannot be known. */
export function getMember(object: Value, key: string | number, line: number): Value {
  if (object instanceof Unknown) return object;
  if (object instanceof Native) return object.members(String(key), line);
  if (Array.isArray(object)) {
    if (key === "length") return object.length;
    return typeof key === "number" || /^\d+$/.test(key) ? object[Number(key)] : undefined;
  }
  if (typeof object === "string") return key === "length" ? object.length : object[Number(key)];
  if (isObject(object)) return Object.hasOwn(object, key) ? object[key] : undefined;
  return new Unknown(`the member ${key} of no object`, line);
}

type Method<T> = (object: T, args: readonly Value[], line: number) => Value;

const apply = (callback: Value, ...args: Value[]): Value =>
  isFunction(callback) ? callback.call(args, 0) : new Unknown("a callback that is no function", 0);

const listMethods: Record<string, Method<Value[]>> = {
  map: (list, [callback]) => list.map((item, at) => apply(callback, item, at)),
  flatMap: (list, [callback]) => list.flatMap((item, at) => apply(callback, item, at)),
  filter: (list, [callback]) =>
    list.filter((item, at) => Boolean(callback === builtIns.Boolean ? item : apply(callback, item, at))),
  find: (list, [callback]) => list.find((item) => apply(callback, item) === true),
  forEach: (list, [callback]) => void list.forEach((item, at) => void apply(callback, item, at)),
  concat: (list, args) => list.concat(...args.map((one) => (Array.isArray(one) ? one : [one]))),
  slice: (list, [from, to]) => list.slice(from as number, to as number),
  includes: (list, [item]) => list.includes(item),
  at: (list, [index]) => list.at(index as number),
  flat: (list) => list.flat() as Value[],
  push: (list, args) => list.push(...args),
  join: (list, [separator = ","]) => findUnknown(list) ?? list.join(String(separator)),
  entries: (list) => list.map((item, at): Value => [at, item]),
};

const textMethods = new Set(
  "toUpperCase toLowerCase trim trimStart trimEnd repeat slice substring split padStart padEnd replace replaceAll includes startsWith endsWith indexOf concat at charAt toString".split(
    " ",
  ),
);

/** Calls a method of an array, a string or a regular expression; an `Unknown` for any other method. */
export function callMethod(object: Value, name: string, args: readonly Value[], line: number): Value {
  if (object instanceof Unknown) return object;
  if (Array.isArray(object)) {
    const method = Object.hasOwn(listMethods, name) ? listMethods[name] : undefined;
    return method ? method(object, args, line) : new Unknown(`the method ${name} of a list is not worked out`, line);
  }
  const unknown = args.find((one) => one instanceof Unknown);
  if (unknown) return unknown;
  if (typeof object === "string" && textMethods.has(name)) {
    const method = (object as unknown as Record<string, (...given: readonly Value[]) => Value>)[name];
    return method?.apply(object, [...args]);
  }
  if (object instanceof RegExp && name === "test") return object.test(String(args[0]));
  return new Unknown(`the method ${name} is not worked out`, line);
}

const pure = (name: string, call: (args: readonly Value[]) => Value) =>
  new Native(name, (args) => args.map(findUnknown).find(Boolean) ?? call(args));

/** An object of functions, such as `Object`. */
function namespace(name: string, members: Record<string, Value>): Native {
  const find = (member: string, line: number): Value =>
    Object.hasOwn(members, member) ? members[member] : new Unknown(`${name}.${member} is not worked out`, line);
  return new Native(name, () => new Unknown(`${name}(...) is not worked out`, 0), find);
}

const asObject = (value: Value): ObjectValue => (isObject(value) ? value : {});

/** The supported global names. */
export const builtIns: Record<string, Value> = {
  Object: namespace("Object", {
    keys: new Native("keys", ([object]) => Object.keys(asObject(object))),
    values: new Native("values", ([object]) => (object instanceof Unknown ? object : Object.values(asObject(object)))),
    entries: new Native("entries", ([object]) =>
      object instanceof Unknown ? object : Object.entries(asObject(object)).map(([key, value]): Value => [key, value]),
    ),
    fromEntries: new Native("fromEntries", ([list]) =>
      Array.isArray(list)
        ? Object.fromEntries(list.flatMap((one) => (Array.isArray(one) ? [[String(one[0]), one[1]]] : [])))
        : list,
    ),
    freeze: new Native("freeze", ([object]) => object),
  }),
  JSON: namespace("JSON", {
    stringify: new Native("stringify", ([value, , space], line) => {
      const read = toJson(value);
      return "json" in read ? JSON.stringify(read.json, null, space as number) : new Unknown(read.reason, line);
    }),
  }),
  String: pure("String", ([value]) => String(value)),
  Boolean: pure("Boolean", ([value]) => Boolean(value)),
};

/** A library whose calls (`Matcher.anyOf(...)`) and `properties` (`Matcher.undefined`) evaluate to markers. */
export function markerNamespace(name: string, properties: ReadonlySet<string>): Native {
  const create = (args: readonly Value[], line: number) => new Marker(name, args, line);
  return new Native(name, create, (member, line) => {
    const own = `${name}.${member}`;
    return properties.has(member)
      ? new Marker(own, [], line)
      : new Native(own, (args, at) => new Marker(own, args, at));
  });
}
