using System.Runtime.Versioning;
using ProtoRpc.Tests.Schema;
using ProtoRpc.Transports.Files;

namespace ProtoRpc.Tests.Transports;

/// <summary>Files that others put where lines are to be appended.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class OwnFileTests : IDisposable
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly TempFolder _folder = new();

    public OwnFileTests() =>
        Assert.SkipWhen(OperatingSystem.IsWindows(), "owners and modes of files are those of Unix");

    private string Log => Path.Combine(_folder.Path, "calls.jsonl");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void A_file_of_the_own_account_alone_is_appended_to()
    {
        Make(OwnerOnly, "1\n");

        Append("2\n");

        Assert.Equal("1\n2\n", File.ReadAllText(Log));
    }

    [Theory]
    [InlineData(OwnerOnly | UnixFileMode.GroupRead, true)]
    [InlineData(OwnerOnly | UnixFileMode.OtherRead, false)]
    [InlineData(OwnerOnly | UnixFileMode.OtherWrite, false)]
    [InlineData(OwnerOnly | UnixFileMode.GroupRead | UnixFileMode.GroupWrite, false)]
    [InlineData(OwnerOnly | UnixFileMode.GroupRead | UnixFileMode.OtherRead, false)]
    public void A_file_that_others_may_read_or_write_is_refused(UnixFileMode mode, bool isTaken)
    {
        Make(mode, "1\n");

        if (isTaken)
        {
            Append("2\n");
            return;
        }

        Assert.Contains("0600", Refused());
        Assert.Equal("1\n", File.ReadAllText(Log));
    }

    [Fact]
    public void A_file_of_another_account_is_refused()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        Make(OwnerOnly, "");
        OtherAccount.Own(Log);

        Assert.Contains($"belongs to the account {OtherAccount.UserId}", Refused());
        Assert.Equal("", File.ReadAllText(Log));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void A_link_is_refused_and_its_target_is_neither_changed_nor_made(bool exists)
    {
        string target = Path.Combine(_folder.Path, "target");
        if (exists)
        {
            File.WriteAllText(target, "");
            File.SetUnixFileMode(target, OwnerOnly);
        }

        File.CreateSymbolicLink(Log, target);

        Assert.Contains("symbolic link", Refused());
        Assert.Equal(exists, File.Exists(target));
        Assert.True(!exists || new FileInfo(target).Length == 0);
    }

    [Fact]
    public void A_link_in_a_circle_is_refused()
    {
        File.CreateSymbolicLink(Log, Log);

        Assert.NotEmpty(Refused());
    }

    [Fact]
    public void A_second_name_of_another_file_is_refused()
    {
        string other = Path.Combine(_folder.Path, "other");
        Make(OwnerOnly, "");
        File.Move(Log, other);
        Run("ln", other, Log);

        Assert.Contains("hard link", Refused());
        Assert.Equal("", File.ReadAllText(other));
    }

    [Fact]
    public void A_pipe_of_the_own_account_and_a_device_stay_allowed()
    {
        Run("mkfifo", Log);
        using FileStream reader = new(Log, FileMode.Open, FileAccess.ReadWrite);

        Append("1\n");
        OwnFile.OpenToAppend("/dev/null").Dispose();

        byte[] read = new byte[2];
        reader.ReadExactly(read);
        Assert.Equal("1\n"u8, read);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void A_pipe_of_another_account_is_refused_also_behind_its_link(bool isLink)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        string pipe = isLink ? Path.Combine(_folder.Path, "pipe") : Log;
        Run("mkfifo", pipe);
        OtherAccount.Own(pipe);
        if (isLink)
        {
            File.CreateSymbolicLink(Log, pipe);
            OtherAccount.Own(Log);
        }

        using FileStream reader = new(pipe, FileMode.Open, FileAccess.ReadWrite);

        Assert.Contains("account", Refused());
    }

    [Theory]
    [InlineData("/proc/self/fd/{0}")]
    [InlineData("/dev/fd/{0}")]
    public void An_open_file_of_the_process_itself_is_taken_whoever_may_read_it(string form)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "/proc is that of Linux");
        string target = Path.Combine(_folder.Path, "target");
        File.WriteAllText(target, "");
        using FileStream open = new(target, FileMode.Open, FileAccess.Write, FileShare.ReadWrite);

        OwnFile.OpenToAppend(string.Format(
            System.Globalization.CultureInfo.InvariantCulture, form,
            open.SafeFileHandle.DangerousGetHandle())).Dispose();
    }

    [Fact]
    public void Standard_output_behind_a_link_is_taken_as_images_of_containers_have_it()
    {
        File.CreateSymbolicLink(Log, "/dev/stdout");

        OwnFile.OpenToAppend(Log).Dispose();
    }

    [Fact]
    public void Recordings_and_logs_say_why()
    {
        Make(OwnerOnly | UnixFileMode.OtherRead, "");

        RpcException error = Assert.Throws<RpcException>(() => new JsonLinesFile(Log));

        Assert.Equal("CannotWriteFile", error.ErrorId);
        Assert.Contains(Log, error.Message);
        Assert.Contains("0600", error.Message);
    }

    private static void Run(string program, params string[] arguments)
    {
        using System.Diagnostics.Process process = System.Diagnostics.Process.Start(program, arguments);
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
    }

    private void Make(UnixFileMode mode, string text)
    {
        File.WriteAllText(Log, text);
        File.SetUnixFileMode(Log, mode);
    }

    private void Append(string text)
    {
        using AppendedFile file = new(Log);
        file.Append(System.Text.Encoding.UTF8.GetBytes(text));
    }

    private string Refused() => Assert.ThrowsAny<IOException>(() => Append("secret\n")).Message;
}
