// Opens a connection with mysql2 for each line of its input, which are options in JSON, and says in a line what it
// saw, or why not.
const fs = require("node:fs");
const readline = require("node:readline");
const mysql = require(process.argv[2] + "/mysql2/promise");

async function look(options) {
  for (const name of ["ca", "cert", "key"]) {
    if (options.ssl?.[name]) options.ssl[name] = fs.readFileSync(options.ssl[name]);
  }
  const connection = await mysql.createConnection(options);
  try {
    const seen = [];
    for (const name of ["Ssl_version", "Compression"]) {
      const [rows] = await connection.query(`SHOW STATUS LIKE '${name}'`);
      seen.push(rows[0].Value);
    }
    // Packets that are long, and many.
    const [rows] = await connection.query("SELECT REPEAT('a tall tale ', 200000) AS text, CURRENT_USER() AS user");
    seen.push(rows[0].text.length, rows[0].user);
    const [lengths] = await connection.execute("SELECT LENGTH(?) AS n", ["x".repeat(3_000_000)]);
    seen.push(lengths[0].n);
    return seen.join("\t");
  } finally {
    await connection.end();
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      console.log(`ok\t${await look(JSON.parse(line))}`);
    } catch (error) {
      console.log(`failed\t${error.code} ${error.errno} ${error.message}`.replaceAll("\n", " "));
    }
  }
})();
