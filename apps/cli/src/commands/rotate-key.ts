import { readKeyState, sealKeyCheck, wrongKeyError } from '@rapport/core/installation/key-check.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { readApiConfig } from '@rapport/core/runtime/config.ts'
import { resealSecrets } from '@rapport/core/installation/reseal-secrets.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, jsonFlag } from '../command.ts'
import { withDatabase } from '../database.ts'
import { formatCount } from '../terminal.ts'

export const rotateKey = defineCommand({
  options: z.strictObject({
    lost: z.boolean().default(false).meta(flag('Accepts the current SECRET_KEY although the former key is lost')),
    json: jsonFlag('Prints the counts as JSON'),
  }),
  notes: [
    'Run it when every API and worker has the new SECRET_KEY, and the previous one in SECRET_KEY_PREVIOUS. They can',
    'keep running. The command can be stopped and run again: it skips secrets that already use the current key. If a',
    'secret uses an unknown key, it is left unchanged and the exit code is 1. See docs/key-rotation.md.',
  ].join('\n'),
  async run(cli, { lost: isLost, json }) {
    const { keys } = settingsFrom(readApiConfig(cli.environment))
    const { counts, isWrong } = await withDatabase(cli, async ({ db }) => {
      const counts = await resealSecrets(db, keys)
      const state = await readKeyState(db, keys)
      const isWrong = state === 'wrong' && !isLost
      if (state === 'former' || (state === 'wrong' && isLost)) await sealKeyCheck(db, keys)
      return { counts, isWrong }
    })
    const { resealed, lost } = counts
    const text = `${formatCount(resealed, 'secret')} re-encrypted, ${formatCount(lost)} with an unknown key`
    cli.terminal.print(json ? JSON.stringify(counts) : text)
    if (isWrong) cli.terminal.log(wrongKeyError(keys).message)
    if (lost > 0) cli.terminal.log(lostSecretsHint)
    return lost > 0 || isWrong ? exitCodes.failed : exitCodes.success
  },
})

const lostSecretsHint =
  'Add the key to SECRET_KEY_PREVIOUS and run the command again, or rotate the secrets of these webhooks and create these domains and mail hooks again.'
