import { deleteInstallationHook } from '@rapport/core/mail-hooks/mail-hooks.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { namingId, withOperator } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

export const mailHookDelete = defineCommand({
  positionals: ['hook'],
  options: z.strictObject({
    hook: IdOption('mhk').meta(option('<hook>', 'Id of the mail hook (mhk_…)')),
    json: jsonFlag('Prints the id of the deleted hook as JSON'),
  }),
  notes: [
    'Messages to its URL are refused from now on. Only for the hooks of the installation. The command connects to the',
    'database directly. "rapport mail-hook list" lists the ids.',
  ].join('\n'),
  async run(cli, { hook, json }) {
    await withOperator(cli, (base) =>
      deleteInstallationHook(base, hook).catch(namingId(`Mail hook ${hook}`, 'rapport mail-hook list')),
    )
    if (json) cli.terminal.print(JSON.stringify({ id: hook }))
    cli.terminal.log(`${hook} is deleted.`)
    return exitCodes.success
  },
})
