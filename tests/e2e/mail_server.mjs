// A mail server for tests: smtp-server, which keeps nothing and prints each mail as a line of JSON. Takes a JSON object:
// port; user and password, or none: who may send.
import { createRequire } from "node:module";

const { SMTPServer } = createRequire(new URL("../../web/package.json", import.meta.url))("smtp-server");
const { port, user, password } = JSON.parse(process.argv[2]);
const server = new SMTPServer({
  authOptional: !user,
  // Its own certificate is nobody's: who signs in must refuse it.
  hideSTARTTLS: !user,
  onAuth: (auth, _session, done) =>
    auth.username === user && auth.password === password
      ? done(null, { user })
      : done(new Error("who are you?")),
  onRcptTo: (address, _session, done) =>
    address.address.endsWith("@lab.org") ? done() : done(new Error("not one of us")),
  onData: (stream, session, done) => {
    const parts = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => {
      const { mailFrom, rcptTo } = session.envelope;
      const mail = { from: mailFrom.address, to: rcptTo.map((one) => one.address) };
      console.log(JSON.stringify({ ...mail, text: Buffer.concat(parts).toString() }));
      done();
    });
  },
});
server.listen(port, "127.0.0.1", () => console.log("listens"));
