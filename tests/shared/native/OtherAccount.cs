using System.Runtime.InteropServices;

namespace ProtoRpc.TestServers;

/// <summary>Acts as another account of this machine, which root can. Linux counts the user by thread, so
/// other threads of the process stay root.</summary>
internal static partial class OtherAccount
{
    /// <summary>A user id that no account has.</summary>
    public const uint UserId = 54321;

    /// <summary>Why a test with another account cannot run here; null if it can.</summary>
    public static string? Missing => OperatingSystem.IsLinux() && Environment.UserName == "root"
        && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64
            ? null
            : "only root on Linux can act as another account";

    /// <summary>Runs an action as the other account, and throws what the action throws.</summary>
    public static void Run(Action action)
    {
        Exception? failure = null;
        Thread thread = new(() =>
        {
            try
            {
                SetUser(UserId);
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
    private static void SetUser(uint user)
    {
        const nint Unchanged = -1;
        nint number = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 117 : 147;
        if (syscall(number, Unchanged, (nint)user, Unchanged) != 0)
        {
            throw new InvalidOperationException(
                $"setresuid failed with {Marshal.GetLastPInvokeError()}");
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc", SetLastError = true)]
    private static partial nint syscall(nint number, nint real, nint effective, nint saved);

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int lchown(string path, uint user, uint group);
#pragma warning restore SYSLIB1054, IDE1006
}
