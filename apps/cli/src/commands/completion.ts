import { z } from 'zod'
import { type Command, defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { formatCompletion, shells } from '../completion.ts'

/** `loadCommands` loads those to complete, with this one. */
export const createCompletion = (loadCommands: () => Promise<readonly Command[]>) =>
  defineCommand({
    positionals: ['shell'],
    options: z.strictObject({
      shell: z.enum(shells, 'must be bash, zsh or fish').meta(option('<shell>', 'bash, zsh or fish')),
      json: jsonFlag('Prints the script as JSON'),
    }),
    notes: [
      'To load it in each new shell:',
      '',
      '  bash  add to ~/.bashrc: source <(rapport completion bash)',
      '  zsh   add to ~/.zshrc, after compinit: source <(rapport completion zsh)',
      '  fish  rapport completion fish > ~/.config/fish/completions/rapport.fish',
      '',
      'Load it again after an upgrade.',
    ].join('\n'),
    async run({ terminal }, { shell, json }) {
      const script = formatCompletion(shell, await loadCommands())
      terminal.print(json ? JSON.stringify({ shell, script }) : script)
      return exitCodes.success
    },
  })
