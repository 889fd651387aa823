<#
.SYNOPSIS
Draws commands and their output, with ANSI colours, as the picture of a terminal in SVG.
#>
[CmdletBinding()]
[OutputType([string])]
param(
    # The text of the commands.
    [Parameter(Mandatory)] [string[]] $Command,

    # The output of each command, with its ANSI sequences.
    [Parameter(Mandatory)] [AllowEmptyString()] [string[]] $Output,

    [int] $Width = 100,

    [string] $Title = 'A terminal'
)

$ErrorActionPreference = 'Stop'
$column = 8.4
$line = 20
$top = 52
$left = 20
$palette = '#0c0c0c', '#f14c4c', '#23d18b', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d4d4d4',
    '#7f848e', '#ff7b72', '#7ee787', '#f2cc60', '#79c0ff', '#d2a8ff', '#a5f3fc', '#ffffff'
$plain = '#d4d4d4'

# A colour of the palette with 256 entries: the first 16, a cube of 6 x 6 x 6, then 24 shades of grey.
function Get-IndexedColour([int] $Index) {
    if ($Index -lt 16) {
        return $palette[$Index]
    }
    if ($Index -ge 232) {
        $shade = 8 + 10 * ($Index - 232)
        return '#{0:x2}{0:x2}{0:x2}' -f $shade
    }
    $parts = foreach ($place in 36, 6, 1) {
        $step = [Math]::Floor(($Index - 16) / $place) % 6
        [int] ($step -eq 0 ? 0 : 55 + 40 * $step)
    }
    '#{0:x2}{1:x2}{2:x2}' -f $parts
}

# The style after a sequence such as 32;1.
function Get-Style([hashtable] $Style, [string] $Sequence) {
    $next = $Style.Clone()
    $codes = [Collections.Generic.Queue[int]]::new([int[]] ($Sequence -split ';' | ForEach-Object { [int] $_ }))
    while ($codes.Count -gt 0) {
        switch ($codes.Dequeue()) {
            0 { $next = @{ Fill = $plain; Bold = $false; Italic = $false } }
            1 { $next.Bold = $true }
            3 { $next.Italic = $true }
            { $_ -in 22, 2 } { $next.Bold = $false }
            23 { $next.Italic = $false }
            39 { $next.Fill = $plain }
            { $_ -in 30..37 } { $next.Fill = $palette[$_ - 30] }
            { $_ -in 90..97 } { $next.Fill = $palette[$_ - 82] }
            38 {
                if ($codes.Dequeue() -eq 5) {
                    $next.Fill = Get-IndexedColour $codes.Dequeue()
                }
                else {
                    $rgb = $codes.Dequeue(), $codes.Dequeue(), $codes.Dequeue()
                    $next.Fill = '#{0:x2}{1:x2}{2:x2}' -f $rgb
                }
            }
        }
    }
    $next
}

# A command with the colours that PSReadLine gives its tokens.
function Get-ColouredCommand([string] $Text) {
    $tokens = $null
    $null = [System.Management.Automation.Language.Parser]::ParseInput($Text, [ref] $tokens, [ref] $null)
    $coloured = [Text.StringBuilder]::new()
    $at = 0
    foreach ($token in $tokens | Where-Object Kind -NE EndOfInput) {
        $code = switch ($token) {
            { $_.TokenFlags -band [System.Management.Automation.Language.TokenFlags]::CommandName } { '93'; break }
            { $_.Kind -eq 'Parameter' } { '90'; break }
            { $_.Kind -in 'StringLiteral', 'StringExpandable' } { '36'; break }
            { $_.Kind -eq 'Variable' } { '92'; break }
            { $_.Kind -eq 'Comment' } { '32'; break }
            default { '97' }
        }
        $null = $coloured.Append($Text.Substring($at, $token.Extent.StartOffset - $at))
        $null = $coloured.Append("`e[${code}m").Append($token.Extent.Text).Append("`e[0m")
        $at = $token.Extent.EndOffset
    }
    $coloured.Append($Text.Substring($at)).ToString()
}

$screen = for ($i = 0; $i -lt $Command.Count; $i++) {
    $prompt = "`e[32;1mPS>`e[0m "
    foreach ($row in (Get-ColouredCommand $Command[$i]) -split "`n") {
        "$prompt$row"
        $prompt = ''
    }
    if ($Output[$i].Length -gt 0) {
        $Output[$i] -split "`n"
    }
    ''
}
# No empty line at the end, and not two after each other.
$screen = ($screen -join "`n").TrimEnd() -replace "\n{3,}", "`n`n" -split "`n"

$style = @{ Fill = $plain; Bold = $false; Italic = $false }
$y = $top
$text = foreach ($row in $screen) {
    $x = $below = 0
    foreach ($part in [regex]::Matches($row, '\e\[(?<code>[\d;]*)m|(?<text>[^\e]+)')) {
        if (-not $part.Groups['text'].Success) {
            $code = $part.Groups['code'].Value
            $style = Get-Style $style ($code ? $code : '0')
            continue
        }

        # Words stand at columns of their own: readers of SVG do not agree on what spaces between them take.
        # A row that is too long goes on in the next line, as in a terminal.
        $run = $part.Groups['text'].Value
        foreach ($word in [regex]::Matches($run, '\S+(?: \S+)*?(?=\s{2}|\s*$)')) {
            $looks = "fill=`"$($style.Fill)`""
            $looks += $style.Bold ? ' font-weight="bold"' : ''
            $looks += $style.Italic ? ' font-style="italic"' : ''
            for ($from = 0; $from -lt $word.Length; $from += $piece.Length) {
                $place = $x + $word.Index + $from
                $wrapped = [Math]::Floor($place / $Width)
                $place -= $wrapped * $Width
                $below = [Math]::Max($below, $wrapped)
                $piece = $word.Value.Substring($from, [Math]::Min($Width - $place, $word.Length - $from))
                '<text x="{0:0.#}" y="{1}" textLength="{2:0.#}" {3}>{4}</text>' -f ($left + $place * $column),
                    ($y + $wrapped * $line), ($piece.Length * $column), $looks,
                    [Security.SecurityElement]::Escape($piece)
            }
        }
        $x += $run.Length
    }
    $y += $line * (1 + $below)
}

$wide = [int] ($Width * $column + 2 * $left)
$high = $y + 4
@"
<svg xmlns="http://www.w3.org/2000/svg" width="$wide" height="$high" viewBox="0 0 $wide $high" role="img">
<title>$([Security.SecurityElement]::Escape($Title))</title>
<rect width="$wide" height="$high" rx="8" fill="#1e1e2e"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/><circle cx="60" cy="18" r="6" fill="#28c840"/>
<g font-family="Cascadia Mono, Consolas, Menlo, DejaVu Sans Mono, monospace" font-size="14">
$($text -join "`n")
</g>
</svg>
"@ -replace '\r\n', "`n"
