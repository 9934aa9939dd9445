import { resealSecrets } from '@rapport/core/webhooks/reseal-secrets.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag } from '../command.ts'
import { withOperator } from '../database.ts'

export const rotateKey = defineCommand({
  name: 'rotate-key',
  summary: 'Encrypts webhook secrets anew, under the present SECRET_KEY',
  options: z.strictObject({
    json: z.boolean().default(false).meta(flag('Prints the counts as JSON')),
  }),
  notes: [
    'To be run once every API and worker has the new SECRET_KEY, with the former one in SECRET_KEY_PREVIOUS. It may run',
    'while they work, be stopped, and run again: what is done is passed over. Exit code 1 when a secret is under a key',
    'that is not known; it is left as it is. See docs/key-rotation.md.',
  ].join('\n'),
  async run(cli, { json }) {
    const counts = await withOperator(cli, ({ db, settings }) => resealSecrets(db, settings.keys))
    const { resealed, lost } = counts
    cli.terminal.print(
      json ? JSON.stringify(counts) : `${resealed} webhooks encrypted anew, ${lost} under no known key`,
    )
    if (lost === 0) return exitCodes.good
    cli.terminal.tell(
      'Name their key in SECRET_KEY_PREVIOUS and run it again, or rotate the secrets of these webhooks.',
    )
    return exitCodes.failed
  },
})
