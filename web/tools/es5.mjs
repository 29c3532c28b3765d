// Lowers a script to ES5, which is what Duktape runs; fails on syntax that cannot be lowered. Used by
// vite.plot.config.ts.
import ts from "typescript-es5";

const options = {
  target: ts.ScriptTarget.ES5,
  module: ts.ModuleKind.None,
  allowJs: true,
  downlevelIteration: true,
  removeComments: true,
  ignoreDeprecations: "5.0",
};

function check(source) {
  const visit = (node) => {
    const flags = ts.isRegularExpressionLiteral(node) ? (/\w*$/.exec(node.text)?.[0] ?? "") : "";
    if (/[^gim]/.test(flags) || ts.isBigIntLiteral(node))
      throw new Error(`ES5 has no ${node.getText(source)}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
}

// Private members become ordinary ones: a WeakMap each would make every access slow.
const withoutPrivate = (context) => (source) => {
  const visit = (node) =>
    ts.isPrivateIdentifier(node)
      ? ts.factory.createIdentifier(`_${node.text.slice(1)}`)
      : ts.visitEachChild(node, visit, context);
  return ts.visitNode(source, visit);
};

export function es5(code) {
  check(ts.createSourceFile("plot.js", code, ts.ScriptTarget.Latest, true));
  return ts.transpileModule(code, {
    fileName: "plot.js",
    compilerOptions: options,
    transformers: { before: [withoutPrivate] },
  }).outputText;
}
