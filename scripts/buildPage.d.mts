/** The source of the module that `#page` names: the script and the style sheet of the page. */
export function buildPage(): Promise<string>;
