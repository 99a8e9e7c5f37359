// What programs of Node share: their steps, and what they print.

// Prints a result: what both servers must answer alike.
function show(value) {
  console.log(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : v)));
}

// Runs a function as a step, says whether it worked, and goes on in either case.
async function step(name, run) {
  try {
    await run();
    console.log(`step ${name} ok`);
  } catch (error) {
    const words = `${error.name}: ${error.message} ${error.cause || ''}`.replace(/\s+/g, ' ').trim();
    console.log(`step ${name} FAILED ${words}`);
  }
}

// A server's message without what Cohort adds to that of 1205: who holds the lock.
function message(text) {
  return text && text.replace(/ \(the lock is held by: .*\)$/s, '');
}

// Makes a function that runs what must fail, and prints what `described` says of the error.
function failing(described) {
  return async (run) => {
    try {
      await run();
    } catch (error) {
      show(described(error));
      return;
    }
    throw new Error('there was no error');
  };
}

module.exports = { show, step, message, failing };
