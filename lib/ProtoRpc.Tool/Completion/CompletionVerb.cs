namespace ProtoRpc.Tool.Completion;

/// <summary><c>protorpc completion</c>: the script with which a shell completes the tool's command
/// lines.</summary>
internal static class CompletionVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> shell = new("SHELL") { Description = "bash, zsh, fish or pwsh." };
        shell.AcceptOnlyFromAmong("bash", "zsh", "fish", "pwsh");
        Command command = new("completion", "Writes the script that completes protorpc in a shell.")
        {
            shell,
        };
        command.SetAction(parsed =>
        {
            console.Output.Write(CompletionScripts.Get(parsed.GetRequiredValue(shell)));
            console.Output.Flush();
            return ExitCode.Success;
        });
        return command;
    }
}

/// <summary>The completion scripts of the shells. Each passes the words before the cursor to the tool, and
/// inserts the returned lines without evaluating them, so that names from a server are never run as
/// code.</summary>
internal static class CompletionScripts
{
    private const string Bash =
        """
        # Completion of protorpc for bash: source <(protorpc completion bash)
        _protorpc() {
            local line word=$2 whole= i part
            COMPREPLY=()
            # Bash cuts words at : and =, which endpoints and fields have: put them together again.
            local -a words=()
            for ((i = 1; i <= COMP_CWORD; i++)); do
                part=${COMP_WORDS[i]}
                if ((i > 1)) && [[ $part == [:=]* || ${COMP_WORDS[i-1]} == *[:=] ]]; then
                    words[${#words[@]}-1]+=$part
                else
                    words+=("$part")
                fi
            done
            for i in "${!words[@]}"; do
                part=${words[i]#[\'\"]}
                words[i]=${part%[\'\"]}
            done
            ((${#words[@]} > 0)) && whole=${words[${#words[@]}-1]}
            local kept=
            [[ $whole == *"$word" ]] && kept=${whole%"$word"}
            while IFS= read -r line; do
                [[ $line == "$whole"* ]] || continue
                line=${line#"$kept"}
                if [[ $line == *= || $line == *: ]]; then compopt -o nospace; fi
                COMPREPLY+=("$(printf '%q' "$line")")
            done < <("$1" __complete "${words[@]}" 2>/dev/null)
            [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
        }
        complete -F _protorpc protorpc

        """;

    private const string Zsh =
        """
        #compdef protorpc
        # Completion of protorpc for zsh: source <(protorpc completion zsh), or as _protorpc on $fpath
        _protorpc() {
            local -a found open
            local line
            while IFS= read -r line; do
                if [[ $line == *[=:] ]]; then open+=("$line"); else found+=("$line"); fi
            done < <("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
            if (( ${#found} + ${#open} == 0 )); then _files; return; fi
            compadd -a found
            compadd -S '' -a open
        }
        if [[ $funcstack[1] == _protorpc ]]; then _protorpc "$@"; else compdef _protorpc protorpc; fi

        """;

    private const string Fish =
        """
        # Completion of protorpc for fish: protorpc completion fish | source
        function __protorpc_complete
            set -l words (commandline -opc)
            set -l program $words[1]
            set -e words[1]
            $program __complete $words (commandline -ct) 2>/dev/null
        end
        complete -c protorpc -a '(__protorpc_complete)'

        """;

    private const string PowerShell =
        """
        # Completion of protorpc for PowerShell: protorpc completion pwsh | Out-String | Invoke-Expression
        Register-ArgumentCompleter -Native -CommandName protorpc -ScriptBlock {
            param($WordToComplete, $CommandAst, $CursorPosition)
            $words = @(foreach ($element in $CommandAst.CommandElements) {
                if ($element.Extent.EndOffset -ge $CursorPosition) { break }
                if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
                    $element.Value
                }
                else { $element.Extent.Text }
            })
            $program = $words[0]
            $rest = @($words | Select-Object -Skip 1) + [string]$WordToComplete
            & $program __complete @rest 2>$null | ForEach-Object {
                $text = if ($_ -match '^[\w./:\[\]=,+-]+$' -and $_ -notmatch '[\[\],]') { $_ }
                    else { "'" + $_.Replace("'", "''") + "'" }
                [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
            }
        }

        """;

    public static string Get(string shell) => shell switch
    {
        "bash" => Bash.ReplaceLineEndings("\n"),
        "zsh" => Zsh.ReplaceLineEndings("\n"),
        "fish" => Fish.ReplaceLineEndings("\n"),
        _ => PowerShell.ReplaceLineEndings("\n"),
    };
}
