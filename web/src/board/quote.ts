// Names inside words of the address that are split at `~`. Pure.
export const quoted = (name: string) => name.replaceAll("%", "%25").replaceAll("~", "%7E");
export const unquoted = (name: string) => name.replaceAll("%7E", "~").replaceAll("%25", "%");
