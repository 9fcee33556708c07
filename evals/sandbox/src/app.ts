// TODO: read the port from the settings
export const port = 8080;
