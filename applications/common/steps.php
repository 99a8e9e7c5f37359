<?php
// What programs of PHP share: their steps, and what they print.

error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
ini_set('display_errors', 'stderr');
set_error_handler(function ($kind, $text, $file, $line) {
    if (error_reporting() & $kind) {
        throw new ErrorException($text, 0, $kind, $file, $line);
    }
    return true;
});

/** Prints results: what both servers must answer alike. */
function show(...$values): void
{
    echo json_encode(
        count($values) === 1 ? $values[0] : $values,
        JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR,
    ), "\n";
}

/** Runs a function as a step, says whether it worked, and goes on in either case. */
function step(string $name, callable $run): void
{
    try {
        $run();
        echo "step $name ok\n";
    } catch (Throwable $error) {
        $where = getenv('STEPS_TRACE') ? " $error" : '';
        $words = preg_replace('/\s+/', ' ', get_class($error) . ': ' . $error->getMessage() . $where);
        echo "step $name FAILED $words\n";
    }
}

/** Fails the step if something is not so. */
function check(bool $truth, string $why = 'not so'): void
{
    if (!$truth) {
        throw new LogicException($why);
    }
}

/** A server's message without what Cohort adds to that of 1205: who holds the lock. */
function message(string $text): string
{
    return preg_replace('/ \(the lock is held by: .*\)$/s', '', $text);
}

/** Runs what must fail; shows the class of the error and what the server said. */
function fails(callable $run): void
{
    try {
        $run();
    } catch (Throwable $error) {
        for ($from = $error; $from->getPrevious(); $from = $from->getPrevious()) {
        }
        $info = isset($from->errorInfo) ? array_map(fn ($part) => message((string) $part), $from->errorInfo) : null;
        show(get_class($error), get_class($from), $info, message($from->getMessage()));
        return;
    }
    throw new LogicException('there was no error');
}
