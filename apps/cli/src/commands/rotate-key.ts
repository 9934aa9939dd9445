import { resealSecrets } from '@rapport/core/webhooks/reseal-secrets.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag } from '../command.ts'
import { withOperator } from '../database.ts'

export const rotateKey = defineCommand({
  options: z.strictObject({
    json: jsonFlag('Prints the counts as JSON'),
  }),
  notes: [
    'Run it when every API and worker has the new SECRET_KEY, and the previous one in SECRET_KEY_PREVIOUS. They can',
    'keep running. The command can be stopped and run again: it skips secrets that already use the current key. If a',
    'secret uses an unknown key, it is left unchanged and the exit code is 1. See docs/key-rotation.md.',
  ].join('\n'),
  async run(cli, { json }) {
    const counts = await withOperator(cli, ({ db, settings }) => resealSecrets(db, settings.keys))
    const { resealed, lost } = counts
    cli.terminal.print(json ? JSON.stringify(counts) : `${resealed} webhooks re-encrypted, ${lost} with an unknown key`)
    if (lost === 0) return exitCodes.success
    cli.terminal.log(
      'Add the key to SECRET_KEY_PREVIOUS and run the command again, or rotate the secrets of these webhooks.',
    )
    return exitCodes.failed
  },
})
