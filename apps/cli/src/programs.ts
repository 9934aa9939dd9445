/** The programs that `bin/rapport` starts itself. The CLI shows their help, and rejects arguments. */
import { z } from 'zod'
import { CommandFailed, type ListedCommand } from './command.ts'

const program = (name: string, summary: string, notes: readonly string[]): ListedCommand => ({
  name,
  group: 'Programs',
  summary,
  load: async () => ({
    options: z.strictObject({}),
    notes: notes.join('\n'),
    // With neither an argument nor --help, only a call of main.ts without bin/rapport gets here.
    run: () => Promise.reject(new CommandFailed(`start it with bin/rapport: "rapport ${name}"`)),
  }),
})

export const programs: readonly ListedCommand[] = [
  program('api', 'Runs an API, until SIGTERM or Ctrl-C', [
    'Listens on HOST and PORT. Start as many as you need, behind a load balancer. It reads environment variables only:',
    'see "Configuration" in README.md. On SIGTERM it finishes active requests and exits with 0; a second signal exits at',
    'once. An invalid environment exits with 78.',
  ]),
  program('worker', 'Runs a worker, which sends emails and webhooks and runs imports, until SIGTERM or Ctrl-C', [
    'Start as many as you need. It reads environment variables only: see "Configuration" in README.md. On SIGTERM it',
    'finishes active jobs, for up to 60 seconds, and exits with 0; a second signal exits at once. An invalid environment',
    'exits with 78.',
  ]),
  program('migrate', 'Updates the database to this release', [
    'Run it once for each release, before starting its APIs and workers. It can be repeated and run concurrently, and',
    'needs only DATABASE_URL; behind a connection pooler also DATABASE_DIRECT_URL. See docs/upgrade.md.',
  ]),
]
