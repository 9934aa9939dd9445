import { ConfigError, inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { findLocalInstance, withLocalAddresses } from '@rapport/core/runtime/local-instance.ts'
import { CommandFailed, exitCodes, usageError } from './command.ts'
import { helpHint, parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { describeError } from './describe-error.ts'
import { openTerminal } from './terminal.ts'

/** One Ctrl-C may arrive twice, from the terminal and the package manager. Within this time it counts as one. */
const sameSignalMs = 1_000

const terminal = openTerminal(process.stdout, process.stderr)
// The program that reads the pipe may exit early, as "head" does.
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
    const parsed = parseCommandLine(commands, process.argv.slice(2))
    if ('print' in parsed) {
      terminal.print(parsed.print)
      return exitCodes.success
    }
    const inherited = inheritedEnvironment()
    const local = await findLocalInstance(inherited)
    const environment = withLocalAddresses(inherited, local)
    const cli = { terminal, environment, local, stopping: stopping.signal }
    return await parsed.command.run(cli, parsed.options).catch((error: unknown) => {
      const isUsageError = error instanceof CommandFailed && error.exitCode === exitCodes.usage
      throw isUsageError ? usageError(`${error.message}\n${helpHint(parsed.command)}`) : error
    })
  } catch (error) {
    // Further lines are aligned below the first.
    terminal.log(`rapport: ${describeError(error).replaceAll('\n', `\n${' '.repeat('rapport: '.length)}`)}`)
    if (error instanceof CommandFailed) return error.exitCode
    return error instanceof ConfigError ? exitCodes.config : exitCodes.failed
  }
}
