using System.Collections.Frozen;

namespace ProtoRpc.ServiceCommands;

/// <summary>Gives each method the name of a command, and no two of them the same.</summary>
internal static class CommandNames
{
    private const string OtherVerb = "Invoke";

    // Identifiers of a schema may be longer than class names may be.
    private const int MaxLength = 200;

    /// <summary>The names in the order of the methods.</summary>
    /// <param name="methods">The methods of one module.</param>
    /// <param name="prefix">The prefix of each noun; may be empty.</param>
    /// <param name="taken">Names that the module has already.</param>
    /// <remarks>Names differ without regard to case. Methods that would get the same name get a longer one
    /// each: <c>Invoke-Method</c>, with the service, with the package, and at last with a number. Long names
    /// are cut.</remarks>
    public static IReadOnlyList<string> Create(
        IReadOnlyList<RpcMethodInfo> methods, string prefix, params IEnumerable<string> taken)
    {
        string[] names = [.. methods.Select(method => Shortest(method, prefix))];
        HashSet<string> used = new(taken, StringComparer.OrdinalIgnoreCase);
        foreach (Func<RpcMethodInfo, string, string> longer in new[] { Plain, WithService, WithPackage })
        {
            Dictionary<string, int> counts = names.CountBy(name => name, StringComparer.OrdinalIgnoreCase)
                .ToDictionary(StringComparer.OrdinalIgnoreCase);
            for (int i = 0; i < names.Length; i++)
            {
                if (counts[names[i]] > 1 || used.Contains(names[i]))
                {
                    names[i] = Cut(longer(methods[i], prefix));
                }
            }
        }

        Dictionary<string, int> last = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Length; i++)
        {
            string name = names[i];
            while (!used.Add(names[i]))
            {
                // Continues after the name's last number, because thousands of methods may have the same
                // name.
                last[name] = last.GetValueOrDefault(name, 1) + 1;
                names[i] = $"{name}{last[name]}";
            }
        }

        return names;
    }

    /// <summary>The name of a method that is the only one of its module.</summary>
    public static string Shortest(RpcMethodInfo method, string prefix) =>
        Cut(VerbAndNoun(method, prefix) ?? Plain(method, prefix));

    private static string Cut(string name) => name.Length <= MaxLength ? name : name[..MaxLength];

    // Returns null if the method's name does not begin with a verb.
    private static string? VerbAndNoun(RpcMethodInfo method, string prefix)
    {
        IReadOnlyList<string> words = NameWords.Split(method.Name);
        for (int length = Math.Min(2, words.Count); length > 0; length--)
        {
            if (VerbTable.Find(string.Concat(words.Take(length))) is { } verb)
            {
                string rest = NameWords.Pascal(words.Skip(length));
                string noun = prefix + rest;
                return $"{verb}-{(noun.Length > 0 ? noun : NounOf(method.Service))}";
            }
        }

        return null;
    }

    private static string Plain(RpcMethodInfo method, string prefix) =>
        $"{OtherVerb}-{prefix}{PascalOrNumbered(method.Name)}";

    private static string WithService(RpcMethodInfo method, string prefix) =>
        $"{OtherVerb}-{prefix}{NounOf(method.Service)}{PascalOrNumbered(method.Name)}";

    private static string WithPackage(RpcMethodInfo method, string prefix)
    {
        string service = string.Concat(method.Service.FullName.Split('.').Select(NameWords.Pascal));
        return $"{OtherVerb}-{prefix}{service}{PascalOrNumbered(method.Name)}";
    }

    private static string NounOf(RpcServiceInfo service) => PascalOrNumbered(service.Name);

    // An identifier may consist of underscores only.
    private static string PascalOrNumbered(string name) =>
        NameWords.Pascal(name) is { Length: > 0 } pascal ? pascal : "Method";
}

/// <summary>The words of an identifier: <c>GetHTTPStatus</c>, <c>getHttpStatus</c> and
/// <c>get_http_status</c> have three.</summary>
internal static class NameWords
{
    /// <summary>Splits a name into words, without changing them. Digits belong to the word before
    /// them.</summary>
    public static IReadOnlyList<string> Split(string name)
    {
        List<string> words = [];
        int start = 0;
        for (int i = 0; i <= name.Length; i++)
        {
            if (i == name.Length || name[i] == '_' || (i > start && BeginsWord(name, i)))
            {
                if (i > start)
                {
                    words.Add(name[start..i]);
                }

                start = i < name.Length && name[i] == '_' ? i + 1 : i;
            }
        }

        return words;
    }

    /// <summary>The words as one, each with a capital letter.</summary>
    public static string Pascal(IEnumerable<string> words)
    {
        StringBuilder text = new();
        foreach (string word in words)
        {
            text.Append(char.ToUpperInvariant(word[0])).Append(word, 1, word.Length - 1);
        }

        return text.ToString();
    }

    /// <summary>An identifier in Pascal case; empty if it only consists of underscores.</summary>
    public static string Pascal(string name) => Pascal(Split(name));

    // An upper-case letter after a lower-case letter or a digit, or the last of several upper-case letters
    // before a lower-case one.
    private static bool BeginsWord(string name, int i) => char.IsAsciiLetterUpper(name[i])
        && (!char.IsAsciiLetterUpper(name[i - 1])
            || (i + 1 < name.Length && char.IsAsciiLetterLower(name[i + 1])));
}

/// <summary>The verbs that PowerShell approves, and the words that Microsoft's guidelines replace by one of
/// them.</summary>
/// <remarks>From "Approved Verbs for PowerShell Commands" of the PowerShell documentation and Get-Verb of
/// PowerShell 7.6. A word that the guidelines assign to several verbs is listed with the one that services
/// usually mean. Words that are nouns in the names of most methods are omitted: Name, Type, Object, Cat, Dir,
/// In, Into, Input, Output and Quota.</remarks>
internal static class VerbTable
{
    // Each verb with its synonyms. Words after the bar are not in the guidelines of PowerShell, but many
    // methods of services begin with them.
    private const string Lines =
        """
        Add Append Attach Concatenate Insert
        Clear Flush Erase Unmark Unset Nullify
        Close
        Copy Duplicate Clone Replicate
        Enter
        Exit
        Find
        Format
        Get Obtain Dump Acquire Examine | List Fetch Retrieve
        Hide
        Join Unite Associate
        Lock Restrict Secure
        Move Transfer Migrate
        New Create Generate Make Allocate
        Open
        Optimize
        Out
        Pop
        Push
        Redo
        Remove Cut Dispose Discard | Delete
        Rename
        Reset
        Resize
        Search Locate
        Select
        Set Assign Configure
        Show Display Produce
        Skip Bypass Jump
        Split Separate
        Step
        Switch
        Undo
        Unlock Release Unrestrict Unsecure
        Watch
        Connect Telnet
        Disconnect Break Logoff
        Read Prompt
        Receive Accept Peek
        Send Broadcast Mail Fax
        Write Put Print
        Backup Burn
        Checkpoint
        Compare Diff
        Compress Compact
        Convert Resample
        ConvertFrom
        ConvertTo
        Dismount Unmount Unlink
        Edit Change Modify
        Expand Explode Uncompress
        Export Extract
        Group Aggregate Arrange Correlate
        Import BulkLoad Load
        Initialize Init Rebuild Reinitialize Setup
        Limit
        Merge Combine
        Mount
        Publish
        Restore Return
        Save
        Sync Coerce Match
        Unpublish Revert
        Update Refresh Renew Recalculate Reindex
        Debug Diagnose
        Measure Calculate Analyze
        Ping
        Repair Fix
        Resolve Determine
        Test Salvage Verify
        Trace Track Follow Inspect Dig
        Approve
        Assert
        Build
        Complete
        Confirm Acknowledge Agree Certify Validate
        Deny Refuse Reject
        Deploy
        Disable Halt
        Enable Begin
        Install
        Invoke Run | Execute
        Register
        Request
        Restart Recycle
        Resume
        Start Launch Initiate Boot
        Stop End Kill Terminate Cancel
        Submit Post
        Suspend Pause
        Uninstall
        Unregister
        Wait Sleep
        Use
        Block Prevent
        Grant Allow
        Protect Encrypt Safeguard Seal
        Revoke
        Unblock
        Unprotect Decrypt Unseal
        """;

    private static readonly FrozenDictionary<string, string> Verbs = Read();

    /// <summary>The approved verbs.</summary>
    public static IEnumerable<string> Approved => Verbs.Values.Distinct();

    /// <summary>The verb of a word, which may be one itself; null where the guidelines name none.</summary>
    public static string? Find(string word) => Verbs.GetValueOrDefault(word);

    private static FrozenDictionary<string, string> Read()
    {
        Dictionary<string, string> verbs = new(StringComparer.OrdinalIgnoreCase);
        foreach (string line in Lines.Split('\n'))
        {
            string[] words = line.Split([' ', '|', '\r'], StringSplitOptions.RemoveEmptyEntries);
            foreach (string word in words)
            {
                verbs.Add(word, words[0]);
            }
        }

        return verbs.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
    }
}
