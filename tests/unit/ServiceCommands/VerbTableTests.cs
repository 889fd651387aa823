using ProtoRpc.ServiceCommands;

namespace ProtoRpc.Tests.ServiceCommands;

public static class VerbTableTests
{
    [Theory]
    [InlineData("Get", "Get")]
    [InlineData("get", "Get")]
    [InlineData("Create", "New")]
    [InlineData("Delete", "Remove")]
    [InlineData("List", "Get")]
    [InlineData("Fetch", "Get")]
    [InlineData("Modify", "Edit")]
    [InlineData("Refresh", "Update")]
    [InlineData("Validate", "Confirm")]
    [InlineData("Verify", "Test")]
    [InlineData("Run", "Invoke")]
    [InlineData("Search", "Search")]
    [InlineData("ConvertTo", "ConvertTo")]
    [InlineData("Cancel", "Stop")]
    public static void Gives_the_verb_of_a_word(string word, string verb) =>
        Assert.Equal(verb, VerbTable.Find(word));

    [Theory]
    [InlineData("Say")]
    [InlineData("Name")]
    [InlineData("Type")]
    [InlineData("Getter")]
    [InlineData("")]
    public static void Knows_no_verb_of_other_words(string word) => Assert.Null(VerbTable.Find(word));

    [Fact]
    public static void Has_the_approved_verbs_and_no_others()
    {
        // Get-Verb of PowerShell 7.6.
        string[] approved =
            """
            Add Clear Close Copy Enter Exit Find Format Get Hide Join Lock Move New Open Optimize Push Pop
            Redo Remove Rename Reset Resize Search Select Set Show Skip Split Step Switch Undo Unlock Watch
            Connect Disconnect Read Receive Send Write Backup Checkpoint Compare Compress Convert ConvertFrom
            ConvertTo Dismount Edit Expand Export Group Import Initialize Limit Merge Mount Out Publish
            Restore Save Sync Unpublish Update Debug Measure Ping Repair Resolve Test Trace Approve Assert
            Build Complete Confirm Deny Deploy Disable Enable Install Invoke Register Request Restart Resume
            Start Stop Submit Suspend Uninstall Unregister Wait Use Block Grant Protect Revoke Unblock
            Unprotect
            """.Split([' ', '\r', '\n'], StringSplitOptions.RemoveEmptyEntries);

        Assert.Equal(approved.Order(), VerbTable.Approved.Order());
        Assert.All(approved, verb => Assert.Equal(verb, VerbTable.Find(verb)));
    }
}
