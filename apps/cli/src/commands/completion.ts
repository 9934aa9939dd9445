import { z } from 'zod'
import { type Command, defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { formatCompletion, shells } from '../completion.ts'

/** `commands` are those to complete, with this one. */
export const createCompletion = (commands: () => readonly Command[]) =>
  defineCommand({
    name: 'completion',
    group: 'Shell',
    summary: 'Prints a script that completes commands and options in a shell',
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
      const script = formatCompletion(shell, commands())
      terminal.print(json ? JSON.stringify({ shell, script }) : script)
      return exitCodes.success
    },
  })
