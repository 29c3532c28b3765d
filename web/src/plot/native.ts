// Functions of the engine, kept before core-js replaces them.
export const nativePush = Array.prototype.push;
