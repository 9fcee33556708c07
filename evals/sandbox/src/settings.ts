export const settings = { theme: "dark" };
