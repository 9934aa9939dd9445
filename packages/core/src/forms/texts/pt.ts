import type { FormTexts } from './en.ts'

export const pt: FormTexts = {
  thanks: 'Obrigado.',
  emptyBox: 'Marque esta caixa.',
  empty: 'Preencha este campo.',
  line: (maxLength) => `Digite uma única linha com no máximo ${maxLength} caracteres.`,
  text: (maxLength) => `Digite no máximo ${maxLength} caracteres.`,
  email: 'Digite um endereço de e-mail, por exemplo ada@example.com.',
  phone: 'Digite um número de telefone, por exemplo +44 20 7946 0958.',
  number: 'Digite um número com no máximo 15 dígitos.',
  date: 'Digite uma data neste formato: 2026-11-21.',
  option: 'Selecione uma das opções.',
  box: 'Marque ou desmarque esta caixa.',
  tooLarge: 'Encurte suas respostas. No total, elas podem ter no máximo cerca de 32.000 caracteres.',
}
