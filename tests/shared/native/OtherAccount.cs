using System.Runtime.InteropServices;

namespace ProtoRpc.TestServers;

/// <summary>Acts as another account of this machine, which root can. Linux counts user and groups by thread,
/// so other threads of the process stay root.</summary>
internal static partial class OtherAccount
{
    /// <summary>A user id that no account has.</summary>
    public const uint UserId = 54321;

    /// <summary>The user and the group with this name of each Linux (Linux Standard Base).</summary>
    public const string Daemon = "daemon";

    /// <summary>The id of the user and of the group.</summary>
    public const uint DaemonId = 1;

    /// <summary>Another user of each Linux, which is not in the group.</summary>
    public const uint BinId = 2;

    // setresuid, setresgid and setgroups.
    private const nint X64SetUser = 117;
    private const nint X64SetGroup = 119;
    private const nint X64SetGroups = 116;
    private const nint Arm64SetUser = 147;
    private const nint Arm64SetGroup = 149;
    private const nint Arm64SetGroups = 159;
    private const nint Unchanged = -1;

    /// <summary>Why a test with another account cannot run here; null if it can.</summary>
    public static string? Missing => OperatingSystem.IsLinux() && Environment.UserName == "root"
        && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64
            ? null
            : "only root on Linux can act as another account";

    /// <summary>Runs an action as the other account, and throws what the action throws.</summary>
    public static void Run(Action action) => Run(UserId, action);

    /// <summary>Runs an action as an account that is only in the group with the account's number, and throws
    /// what the action throws.</summary>
    public static void Run(uint user, Action action)
    {
        Exception? failure = null;
        Thread thread = new(() =>
        {
            try
            {
                Call(X64SetGroups, Arm64SetGroups, 0, 0, 0);
                Call(X64SetGroup, Arm64SetGroup, Unchanged, (nint)user, Unchanged);
                SetUser(user);
                action();
            }
            catch (Exception e)
            {
                failure = e;
            }
            finally
            {
                SetUser(0);
            }
        });
        thread.Start();
        thread.Join();
        if (failure is not null)
        {
            throw new InvalidOperationException(failure.Message, failure);
        }
    }

    /// <summary>Gives a file, or a link itself, to the other account.</summary>
    public static void Own(string path)
    {
        if (lchown(path, UserId, UserId) != 0)
        {
            throw new IOException($"lchown of '{path}' failed with {Marshal.GetLastPInvokeError()}");
        }
    }

    // The functions of the C library change all threads; the system call changes this one.
    private static void SetUser(uint user) =>
        Call(X64SetUser, Arm64SetUser, Unchanged, (nint)user, Unchanged);

    private static void Call(nint x64, nint arm64, nint first, nint second, nint third)
    {
        nint number = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? x64 : arm64;
        if (syscall(number, first, second, third) != 0)
        {
            throw new InvalidOperationException(
                $"system call {number} failed with {Marshal.GetLastPInvokeError()}");
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc", SetLastError = true)]
    private static partial nint syscall(nint number, nint real, nint effective, nint saved);

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int lchown(string path, uint user, uint group);
#pragma warning restore SYSLIB1054, IDE1006
}
