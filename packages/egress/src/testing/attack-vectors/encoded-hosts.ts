import { atHosts, vectors, type AttackVector } from './attack-vector.ts';

/** Hosts in letters, digits and dots that become ASCII on their way, or must not. Invisible characters are written as escapes. */
export const ENCODED_HOSTS: readonly AttackVector[] = [
  ...vectors(
    'full-width characters',
    'blocked',
    atHosts(`
      １２７.0.0.1 １２７.０.０.１ １２７．０．０．１ 127．0．0．1 ２１３０７０６４３３ ０ ０x7f.1 ０１７７.0.0.1
      ０ｘ７ｆ０００００１ １６９．２５４．１６９．２５４ ｌｏｃａｌｈｏｓｔ ＬＯＣＡＬＨＯＳＴ ｌocalhost.
      ｍｅｔａｄａｔａ.google.internal
    `),
  ),
  ...vectors(
    'ideographic full stops',
    'blocked',
    atHosts(
      '127。0。0。1 127｡0｡0｡1 １２７。０｡０．１ 127.0.0.1。 localhost。 169。254。169。254 metadata。google。internal',
    ),
  ),
  ...vectors(
    'enclosed alphanumerics',
    'blocked',
    atHosts('①②⑦.⓪.⓪.① ⑯⑨.②⑤④.⑯⑨.②⑤④ ⑩.0.0.① ⓛⓞⓒⓐⓛⓗⓞⓢⓣ Ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ②①③⓪⑦⓪⑥④③③ ⓪x⑦f.① ⓜⓔⓣⓐⓓⓐⓣⓐ.ⓖⓞⓞⓖⓛⓔ.ⓘⓝⓣⓔⓡⓝⓐⓛ'),
  ),
  ...vectors('enclosed alphanumerics', 'public', atHosts('ⓟⓤⓑⓛⓘⓒ.ⓐⓣⓣⓐⓒⓚ.ⓣⓔⓢⓣ')),
  ...vectors(
    'compatibility characters',
    'blocked',
    atHosts(`
      𝟏𝟐𝟕.𝟎.𝟎.𝟏 𝟙𝟚𝟟.𝟘.𝟘.𝟙 ¹²⁷.⁰.⁰.¹ ₁₂₇.₀.₀.₁ 𝕝𝕠𝕔𝕒𝕝𝕙𝕠𝕤𝕥 𝓁ocalhost locaℓhost ⅼocalhost Ⅼocalhost localho\u017ft
      ˡᵒᶜᵃˡʰᵒˢᵗ
    `),
  ),
  ...vectors('digits of other scripts', 'unknown name', atHosts('๑๒๗.๐.๐.๑ १२७.०.०.१')),
  ...vectors(
    'invisible characters',
    'blocked',
    atHosts(`
      127.0.0\u00ad.1 1\u00ad27.0.0.1 loc\u00adalhost local\u200bhost 127\u200b.0.0.1 local\u2060host
      127.0.0.1\u2060 localhost\ufe0f meta\u00addata.google.internal
    `),
  ),
  ...vectors('characters that become delimiters', 'no URL', [
    'http://public.attack.test／127.0.0.1:PORT/',
    'http://public.attack.test＃127.0.0.1',
    'http://127.0.0.1：PORT/',
    'http://127.0.0.1／',
    'http://127.0.0.1？',
    'http://public.attack.test＠127.0.0.1:PORT/',
    'http://public.attack.test℀127.0.0.1:PORT/',
    'http://％31％32％37.0.0.1:PORT/',
    'http://［::1］:PORT/',
    'http://127.0.0.1＼public.attack.test:PORT/',
  ]),
  ...vectors(
    'percent-encoded host',
    'blocked',
    atHosts(`
      %31%32%37.0.0.1 127%2e0%2e0%2e1 127%2E0.0.1 %31%32%37%2e%30%2e%30%2e%31 %6c%6f%63alhost %4cOCALHOST
      0%787f.1 %32130706433 0177%2e1 %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1 127%E3%80%820%E3%80%820%E3%80%821
      loc%C2%ADalhost %E2%91%A0%E2%91%A1%E2%91%A6.0.0.1 %31%36%39.254.169.254 metadata%2egoogle%2einternal
    `),
  ),
  ...vectors(
    'percent-encoded host',
    'no URL',
    atHosts(`
      127.0.0.1%00 %00127.0.0.1 127.0.0.1%09 127.0.0.1%0a 127.0.0.1%0d%0a 127.0.0.1%20 127.0.0.1%23
      127.0.0.1%2523 %2531%2532%2537.0.0.1 127.0.0.1%2f 127.0.0.1%5c 127.0.0.1%3a80 127.0.0.1%3f %5b::1%5d
      %5b%3a%3a1%5d public.attack.test%40127.0.0.1 127.0.0.1%40public.attack.test public.attack.test%2f127.0.0.1
      %ff%fe127.0.0.1 127.0.0.%
    `),
  ),
  ...vectors('encoded path', 'blocked', [
    'http://127.0.0.1:PORT/%61dmin',
    'http://127.0.0.1:PORT/%2561dmin',
    'http://127.0.0.1:PORT/%0d%0aHost:%20public.attack.test',
    'http://127.0.0.1:PORT/%2e%2e/%2e%2e/',
    'http://127.0.0.1:PORT/?url=http://public.attack.test/',
  ]),
];
