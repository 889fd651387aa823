# Dot-sourced by build-help.ps1: makes the plain text of help from Markdown.

$PageWidth = 80
$Margin = ' ' * 4

# The text of one or more lines without the marks of Markdown: code and emphasis lose their signs, and links their
# targets.
function ConvertTo-PlainLine([string] $Text) {
    $Text = $Text -replace '\[([^\[\]]+)\]\((https?:[^()\s]+)\)', '$1 ($2)' -replace '\[([^\[\]]+)\]\([^()\s]+\)', '$1'
    $parts = [regex]::Split($Text, '(`[^`]+`)').ForEach{
        $_.StartsWith('`') ? $_.Trim('`') : ($_ -replace '\*\*([^*]+)\*\*', '$1' -replace
            '(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])', '$1' -replace '(?m)^#+ ', '')
    }
    -join $parts
}

# Words in lines of at most the given width.
function Split-Line([string] $Text, [int] $Width) {
    $line = ''
    foreach ($word in -split $Text) {
        if ($line -and $line.Length + 1 + $word.Length -gt $Width) {
            $line
            $line = $word
        }
        else {
            $line = $line ? "$line $word" : $word
        }
    }
    $line
}

# A paragraph or list item: the first line begins with one text, the others with another.
function Format-HelpParagraph([string] $Text, [string] $First, [string] $Rest) {
    $begin = $First
    foreach ($line in Split-Line (ConvertTo-PlainLine $Text) ($PageWidth - $Rest.Length)) {
        $begin + $line
        $begin = $Rest
    }
}

# The length of the longest text in each column.
function Measure-Column([object[]] $Rows, [scriptblock] $Split) {
    foreach ($i in 0..($Rows[0].Count - 1)) {
        ($Rows.ForEach{ & $Split $_[$i] }.ForEach{ $_.Length } | Measure-Object -Maximum).Maximum
    }
}

# Columns if they fit, else a block of lines for each row.
function Format-HelpTable([string[]] $Lines) {
    $rows = @(foreach ($line in $Lines | Where-Object { $_ -notmatch '^\|[ :|-]+$' }) {
            $cells = [regex]::Split($line.Trim() -replace '^\||\|$', '(?<!\\)\|')
            , @($cells.ForEach{ (ConvertTo-PlainLine ($_ -replace '\\\|', '|')).Trim() })
        })
    $columns = 0..($rows[0].Count - 1)
    $widths = @(Measure-Column $rows { $args[0] })
    $free = $PageWidth - $Margin.Length - 2 * ($columns.Count - 1)
    $sum = ($widths | Measure-Object -Sum).Sum
    if ($sum -gt $free) {
        # Each column is as wide as its longest word, the first one as its longest name.
        $least = @(Measure-Column $rows { -split $args[0] })
        $least[0] = $widths[0]
        $leastSum = ($least | Measure-Object -Sum).Sum
        $natural = $widths
        $widths = @($columns.ForEach{
                $share = ($natural[$_] - $least[$_]) / [Math]::Max(1, $sum - $leastSum)
                $least[$_] + [Math]::Floor([Math]::Max(0, $free - $leastSum) * $share)
            })
        if ($free -lt $leastSum -or $widths[-1] -lt [Math]::Min(30, $natural[-1])) {
            return Format-HelpBlock $rows
        }
    }

    $rules = @($rows[0].ForEach{ '-' * $_.Length })
    foreach ($row in @(, $rows[0]) + @(, $rules) + $rows[1..($rows.Count - 1)]) {
        $cells = @($columns.ForEach{ , @(Split-Line $row[$_] $widths[$_]) })
        $height = ($cells.ForEach{ $_.Count } | Measure-Object -Maximum).Maximum
        for ($at = 0; $at -lt $height; $at++) {
            ($Margin + ($columns.ForEach{ "$($cells[$_][$at])".PadRight($widths[$_]) } -join '  ')).TrimEnd()
        }
    }
}

# The first cell of a row in a line of its own, the others below it, with the heading if they are several.
function Format-HelpBlock([object[]] $Rows) {
    foreach ($row in $Rows | Select-Object -Skip 1) {
        $indent = $Margin
        foreach ($i in (0..($row.Count - 1)).Where{ $row[$_] }) {
            $label = $indent -ne $Margin -and $row.Count -gt 2 ? "$($Rows[0][$i]): " : ''
            (Split-Line ($label + $row[$i]) ($PageWidth - $indent.Length)).ForEach{ $indent + $_ }
            $indent = $Margin * 2
        }
    }
}

# An about topic as the shell shows it.
function ConvertTo-HelpTopic([string] $Markdown) {
    $blocks = [System.Collections.Generic.List[string[]]]::new()
    $lines = ($Markdown -replace '\r\n', "`n") -split "`n"
    $at = 0
    while ($at -lt $lines.Count) {
        $line = $lines[$at++]
        if ($line -match '^# (.+)') {
            $blocks.Add(@('TOPIC', "$Margin$($Matches[1])"))
        }
        elseif ($line -match '^## (.+)') {
            $blocks.Add(@((ConvertTo-PlainLine $Matches[1]).ToUpperInvariant()))
        }
        elseif ($line -match '^#{3,} (.+)') {
            $blocks.Add(@("  $(ConvertTo-PlainLine $Matches[1])"))
        }
        elseif ($line -match '^```(\w*)') {
            $isText = $Matches[1] -eq 'text'
            $code = for (; $at -lt $lines.Count -and $lines[$at] -ne '```'; $at++) {
                # Output may be broken, code may not.
                $isText -and $lines[$at].Length -gt $PageWidth - 6 ?
                    (Split-Line $lines[$at] ($PageWidth - 8)).ForEach{ "      $_" } : "      $($lines[$at])".TrimEnd()
            }
            $at++
            $blocks.Add(@($code))
        }
        elseif ($line -match '^ {4}') {
            $code = @("  $line")
            while ($at -lt $lines.Count -and $lines[$at] -match '^ {4}|^$') { $code += "  $($lines[$at++])".TrimEnd() }
            while (-not $code[-1]) { $code = $code[0..($code.Count - 2)] }
            $blocks.Add(@($code))
        }
        elseif ($line -match '^\|') {
            $table = @($line)
            while ($lines[$at] -match '^\|') { $table += $lines[$at++] }
            $blocks.Add(@(Format-HelpTable $table))
        }
        elseif ($line -match '^(- |\d+\. )(.*)') {
            $list = @()
            while ($line -match '^(- |\d+\. )(.*)') {
                $sign, $text = $Matches[1], $Matches[2]
                while ($lines[$at] -match '^ {2,}\S') { $text += ' ' + $lines[$at++].Trim() }
                $list += Format-HelpParagraph $text "$Margin$sign" ($Margin + ' ' * $sign.Length)
                $line = $lines[$at] -match '^(- |\d+\. )' ? $lines[$at++] : ''
            }
            $blocks.Add(@($list))
        }
        elseif ($line.Trim()) {
            while ($lines[$at] -and $lines[$at] -notmatch '^(#|```|\||- |\d+\. )') {
                $line += ' ' + $lines[$at++].Trim()
            }
            $blocks.Add(@(Format-HelpParagraph $line $Margin $Margin))
        }
    }

    # The text of a section stands below its heading.
    $text = for ($i = 0; $i -lt $blocks.Count; $i++) {
        $blocks[$i] -join "`n"
        if ($blocks[$i].Count -ne 1 -or $blocks[$i][0] -notmatch '^( {2})?\S') { '' }
    }
    ($text -join "`n").TrimEnd() + "`n"
}

# The help file of PlatyPS, with code as code and text without marks.
function ConvertTo-PlainMaml([string] $Text) {
    $maml = [xml]::new()
    $maml.PreserveWhitespace = $true
    # A type that can be null is shown as the type.
    $maml.LoadXml(($Text -replace 'System\.Nullable`1\[([^\]]+)\]', '$1'))
    $names = [System.Xml.XmlNamespaceManager]::new($maml.NameTable)
    $names.AddNamespace('maml', 'http://schemas.microsoft.com/maml/2004/10')
    $names.AddNamespace('command', 'http://schemas.microsoft.com/maml/dev/command/2004/10')
    $names.AddNamespace('dev', 'http://schemas.microsoft.com/maml/dev/2004/10')
    foreach ($example in @($maml.SelectNodes('//command:example', $names))) {
        $introduction = $example.SelectSingleNode('maml:introduction', $names)
        # PlatyPS puts code and text here, with a control character between them.
        $body = @(@($introduction.SelectNodes('maml:para', $names)).InnerText) -ne "`u{80}" -join "`n`n"
        if (-not ($body -match '(?s)^```powershell\n(.*?)\n```\s*(.*)$')) {
            throw "'$($example.title)' does not begin with a block of PowerShell."
        }
        $introduction.RemoveAll()
        $introduction.IsEmpty = $true
        $example.SelectSingleNode('dev:code', $names).InnerText = $Matches[1]
        $remarks = $example.SelectSingleNode('dev:remarks', $names)
        # The last paragraph is an empty line before the next example.
        foreach ($paragraph in @($Matches[2].Trim() -split '\n\n+' -ne '') + '') {
            $null = $remarks.AppendChild($maml.CreateElement('maml', 'para', $names.LookupNamespace('maml')))
            $remarks.LastChild.InnerText = $paragraph
        }
    }

    foreach ($paragraph in @($maml.SelectNodes('//maml:para', $names))) {
        $plain = ConvertTo-PlainLine $paragraph.InnerText
        if ($plain -cne $paragraph.InnerText) { $paragraph.InnerText = $plain }
    }

    foreach ($notes in @($maml.SelectNodes('//maml:alertSet', $names))) {
        if (-not $notes.InnerText.Trim()) {
            # With the line break before it.
            $null = $notes.ParentNode.RemoveChild($notes.PreviousSibling)
            $null = $notes.ParentNode.RemoveChild($notes)
        }
    }

    # Names of topics, which are no addresses.
    foreach ($address in @($maml.SelectNodes('//maml:navigationLink/maml:uri', $names))) {
        if ($address.InnerText -like '*.md') {
            $address.RemoveAll()
            $address.IsEmpty = $true
        }
    }
    $maml.OuterXml
}
