using System.Collections.Frozen;

namespace ProtoRpc.Commands;

/// <summary>The verbs that PowerShell approves, and the words that Microsoft's guidelines replace by one of
/// them.</summary>
/// <remarks>From "Approved Verbs for PowerShell Commands" of the PowerShell documentation and Get-Verb of
/// PowerShell 7.6. Where the guidelines name a word for several verbs, it stands with the verb that a service
/// usually means by it. Words that are nouns in the names of most methods are left out: Name, Type, Object,
/// Cat, Dir, In, Into, Input, Output and Quota.</remarks>
internal static class VerbTable
{
    // Each verb with its synonyms. Words after the bar are of this project: the guidelines do not name them,
    // and methods of services begin with them all the time.
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
