import type { ToolSubject, ToolsetSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aChangedTool, aLintedTool, aToolsetSubject, type CasesOf } from "./cases.ts";

const siblings = ["get_forecast", "list_cities"];
const named = (name: string, others: readonly string[] = []) => aChangedTool({ name }, others);
const described = (description: string, changes = {}) => aChangedTool({ description, ...changes }, siblings);
const use = "Use it when the user asks for the weather.";
const saying = (...texts: string[]) => texts.map((text) => described(`Returns the weather of a city. ${use} ${text}`));

export const wordingCases: CasesOf<ToolSubject> = {
  "name-verb": {
    clean: [
      ...["get_weather", "get-weather", "getWeather", "echo", "reindexPages", "weather.get_now"].map((name) =>
        named(name),
      ),
      named("browser_click", ["browser_drag", "browser_tabs"]),
      // After the name of the server.
      named("weather_get"),
      aChangedTool({ name: "defrost_fridge", description: "Defrosts the fridge. Use it when there is ice in it." }),
      aChangedTool({ name: "buscar_libro", description: "Busca un libro en la biblioteca de la ciudad." }),
      ...[undefined, 7, "", "天気"].map((name) => aChangedTool({ name })),
    ],
    violations: {
      "starts with a verb, after the prefix that names of the list share": [
        ...["order_get", "city_forecast", "new_page", "notes", "eventCreate"].map((name) => named(name)),
        named("browser_tabs", ["browser_drag", "browser_click"]),
        named("browser_click", ["page_open", "browser_tabs"]),
      ],
    },
  },
  "name-kind": {
    clean: ["get_weather", "run_query", "toggle_light", "weather_station", "usage"].map((name) => named(name)),
    violations: {
      "the verb shows whether the tool reads, writes or acts": [
        ...["handle_dialog", "manageUsers", "process-order", "do_it"].map((name) => named(name)),
        named("browser_handle_dialog", ["browser_tabs", "browser_drag"]),
      ],
    },
  },
  "description-when": {
    clean: [
      ...[
        "Call this before get_forecast.",
        "Useful for planning a trip.",
        "Whenever the user plans a trip, this helps.",
        "It is called when somebody travels.",
        "If you do not know the city, call list_cities first.",
        "Prefer this tool over list_cities.",
        "Cheaper than get_forecast.",
        "DEPRECATED.",
      ].map((text) => described(`Returns the weather of a city. ${text}`)),
      described("Returns the weather. Use get_weather when it rains."),
      described("Liefert das Wetter einer Stadt und der Umgebung."),
      described("都市の天気を返します。"),
      ...[undefined, 7, " "].map((description) => aChangedTool({ description })),
    ],
    violations: {
      "says when to call the tool": [
        ...[
          "",
          "Use with caution.",
          "Do not use it for a country.",
          "Use the city to find it.",
          "Use get_forecast with the city to get more.",
          'The unit is named, as in "use this when it rains".',
          "The places are suitable for groups.",
          "When offline, it fails.",
        ].map((text) => described(`Returns the weather of a city. ${text}`)),
      ],
    },
  },
  "description-what": {
    clean: [
      ...[
        "Returns the weather.",
        "Quickly brews coffee.",
        "Brews coffee.",
        "Lubricate the lift.",
        "A tool that tells the weather.",
        "When it rains, closes the windows.",
        "If a dialog is open, use this command to close it.",
        "The assistant drafts letters.",
        "Weather: looks it up by city.",
        "The weather can be read by city.",
      ].map((text) => described(text)),
      described("Wetter der Stadt und der Umgebung."),
      // What is too short is another rule's.
      ...["Weather", "Weather tool", "The get weather"].map((text) => described(text)),
      ...[undefined, 7, ""].map((description) => aChangedTool({ description })),
    ],
    violations: {
      "says what a call does, with a verb": ["Weather forecast for a city.", "City list, most recent first"].map(
        (text) => described(text),
      ),
      "says more than when to call it": [
        "Use it when the user is cold.",
        "When the sun is out.",
        "Useful for trips. Do not use it for countries.",
      ].map((text) => described(text)),
    },
  },
  "description-implementation": {
    clean: [
      ...saying("The user may GET some rest.", "It is 200 years old.", "See the Weather Service.", "Add a todo."),
      ...saying('For example "what does GET /weather do?".'),
      described("Sends a GET /health request to a REST endpoint.", { name: "send_request" }),
      described("Runs a SELECT and returns rows from the orders table.", { name: "run_query" }),
      described("Reads a key stored in Redis.", { name: "get_redis_key" }),
      aChangedTool({ description: undefined }),
    ],
    violations: {
      "no HTTP method, path or status": saying(
        "GET /weather/{city}",
        "Returns 404 if there is none.",
        "Fails with HTTP 500.",
      ),
      "no endpoint, API or wrapper behind the tool": saying(
        "This endpoint is old.",
        "Calls the national weather API.",
        "A thin wrapper around it.",
        "Fed by a REST API.",
      ),
      "no database statement or table": saying("Runs SELECT * FROM weather.", "Writes into the weather table."),
      "no name of a class, function or source file": saying(
        "Made by WeatherService.",
        "Calls Weather.load() first.",
        "See lib/weather.py for more.",
      ),
      "no library or store it is built on": saying("Fetched using axios.", "Cached in Redis."),
      "no inner workings": saying("It is cached internally.", "It is called by the frontend.", "Delegates to another."),
      "no address of an internal host": saying("Read from http://weather.internal:8080/v2."),
      "no note to colleagues such as TODO": saying("TODO: units.", "FIXME units"),
    },
  },
  "description-endpoint": {
    clean: [
      ...saying("It answers at once.", "Sends 400 letters.", "Returns error responses: none."),
      described("Sends a request. Responses: 404", { name: "send_request" }),
      aChangedTool({ description: 7 }),
    ],
    violations: {
      "no statuses of an endpoint": [
        described("Weather | Get forecast\n\nError responses: 400"),
        described("Weather / List cities. Response codes: 404, 500"),
        described("List cities\n\nResponses:\n- `401` not signed in"),
      ],
    },
  },
  "description-docstring": {
    clean: [
      ...saying("It returns: the weather.", "Mail ann@returns.example.", "The parameters are city and unit."),
      ...saying("**Returns:** the weather as text.", "The time is 12:30.", "\nReturns:\n    the weather"),
      aChangedTool({ description: 7 }),
    ],
    violations: {
      "no sections such as Args: and Raises:": saying(
        "\n\nArgs:\n    city: the city",
        "\nRaises:\n    ValueError",
        "\n**Parameters:**\n- city",
        "Parameters: city - the city.",
        "\nInput: city\nOutput: weather",
      ),
      "no tags such as :param and @return": saying(
        "\n:param city: the city",
        "\n@param city the city",
        "@throws Error",
      ),
      "no underlined headings": saying("\nParameters\n----------\ncity : str"),
      "no types of a programming language": saying("It returns a dict.", "Returns Promise."),
    },
  },
  "description-for-model": {
    clean: [
      ...saying("It matters to us.", "Vitamin I is none.", "It demonstrates nothing.", 'As in "I am cold".'),
      ...saying("It has power."),
      aChangedTool({ description: undefined }),
    ],
    violations: {
      "no first person (I, we)": saying("We look it up.", "I can tell you.", "It is in our API."),
      "no advertising": saying("A powerful tool.", "Seamless and lightning-fast.", "State-of-the-art weather."),
      "not addressed to developers": saying(
        "Demonstrates a tool.",
        "For developers only: for developers.",
        "Read on to learn more.",
      ),
    },
  },
  "sibling-exists": {
    clean: [
      ...saying(
        "For tomorrow use get_forecast.",
        "See `list_cities`.",
        "Pass the id from get_id_by.",
        "See read_only.",
      ),
      ...saying("The answer holds updated_at.", "Sort it with set_order_by.", "Use getMore of the city."),
      ...saying(
        "Filter by update_time.",
        "Use include_deleted=true.",
        "Use get_all mode.",
        "See list_view.items.",
        "So call get_tree().get_nodes().",
        "Use `is_enabled` to filter.",
        "Use `step_order` to order the steps.",
        "For each city, use get_box to find its bounds.",
      ),
      described("Use get_unit to choose.", {
        inputSchema: { type: "object", properties: { get_unit: { enum: ["use_metric"] } } },
      }),
      described("Use use_metric.", { inputSchema: { properties: { unit: { enum: ["use_metric"] } } } }),
      // By itself: what else is listed is not known.
      aChangedTool({ description: "For tomorrow use get_tomorrow." }),
      aChangedTool({ description: undefined }, siblings),
    ],
    violations: {
      "a tool named in the description is listed": saying(
        "For tomorrow use get_tomorrow.",
        "Call `get_tomorrow()` for tomorrow.",
        "Take a number from list_numbers.",
        "After that, pass city to set_city.",
        "For older ones take the `weather_history` tool.",
        "Take a city from listCities.",
      ),
    },
  },
};

const tool = (name: string, description: string) => aLintedTool({ name, description });
const pair = (one: string, other: string, text = "Gets it.") => aToolsetSubject(tool(one, text), tool(other, text));

/** A tool with this description, beside `resolve-id` with this title. */
const titled = (description: string, title: string | { title: string }) =>
  aToolsetSubject(
    tool("query-docs", description),
    aLintedTool({ name: "resolve-id", ...(typeof title === "string" ? { title } : { annotations: title }) }),
  );

export const alikeCases: CasesOf<ToolsetSubject> = {
  "description-sibling": {
    clean: [
      aToolsetSubject(),
      pair("get_user", "delete_user"),
      pair("get_user", "get_order"),
      pair("get_user_id", "get_order_id"),
      aToolsetSubject(tool("get_user", "For several: list_users."), tool("list_users", "For one use `get_user`.")),
      aToolsetSubject(tool("get_user", "DEPRECATED: gone."), tool("list_users", "For one use get_user.")),
      aToolsetSubject(aLintedTool({ name: 7 }), aLintedTool({ description: undefined })),
    ],
    violations: {
      "names the sibling with the same verb and kind of object": [
        pair("read_text_file", "read_media_file"),
        pair("list_directory", "list_directory_with_sizes"),
      ],
      "names the sibling with a similar verb and the same object": [
        pair("get_user", "list_users"),
        pair("write_file", "edit_file"),
        pair("research_search_topics", "research_list_topics"),
      ],
    },
  },
  "sibling-title": {
    clean: [
      titled("Retrieves documentation. First call resolve-id.", "Resolve ID"),
      titled("Call 'Resolve ID' (resolve-id) first.", "Resolve ID"),
      titled("Retrieves what the Resolve ID page says.", "Resolve ID"),
      titled("Call 'Resolve' first.", "Resolve"),
    ],
    violations: {
      "names a tool by its name, not by its title": [
        titled("Call 'Resolve Library ID' first.", "Resolve Library ID"),
        titled("Call the Resolve Library ID tool first.", "Resolve Library ID"),
        titled('Needs "Resolve Library ID".', { title: "Resolve Library ID" }),
      ],
    },
  },
};
