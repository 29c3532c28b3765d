// What the engine brings along, before core-js replaces it.
export const nativePush = Array.prototype.push;
