import { ConfigError, inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { AppError, isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import { findLocalInstance, withLocalAddresses } from '@rapport/core/runtime/local-instance.ts'
import { CommandFailed, exitCodes } from './command.ts'
import { readCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { openTerminal } from './terminal.ts'

/** One Ctrl-C may arrive twice, from the terminal and through the package manager: within this time it counts as one. */
const sameSignalMs = 1_000

const terminal = openTerminal(process.stdout, process.stderr)
// Whoever read the output has seen enough, as "head" has.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(exitCodes.failed))

const stopping = new AbortController()
let askedAt: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    askedAt ??= Date.now()
    if (Date.now() - askedAt > sameSignalMs) process.exit(exitCodes.interrupted)
    stopping.abort()
  })
}

process.exit(await run())

async function run(): Promise<number> {
  try {
    const meaning = readCommandLine(commands, process.argv.slice(2))
    if ('print' in meaning) {
      terminal.print(meaning.print)
      return exitCodes.good
    }
    const given = inheritedEnvironment()
    const local = await findLocalInstance(given)
    const environment = withLocalAddresses(given, local)
    return await meaning.command.run({ terminal, environment, local, stopping: stopping.signal }, meaning.options)
  } catch (error) {
    // Each line below the one that names the program.
    terminal.tell(`rapport: ${explain(error).replaceAll('\n', `\n${' '.repeat('rapport: '.length)}`)}`)
    if (error instanceof CommandFailed) return error.exitCode
    return error instanceof ConfigError ? exitCodes.config : exitCodes.failed
  }
}

function explain(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof ConfigError) return error.message
  if (error instanceof AppError) return [error.message, ...(error.issues ?? []).map(({ path }) => path)].join(' ')
  if (isDatabaseUnavailable(error)) return `The database is away: ${reasonOf(error)}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof AggregateError) return cause.errors.map((one) => (one as Error).message).join(', ')
  return cause instanceof Error ? cause.message : String(cause)
}
