using System.Diagnostics;
using System.Runtime.InteropServices;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>Starts processes that SIGINT ends, also where the tests themselves ignore it.</summary>
/// <remarks>
/// A shell script that starts the tests in the background makes them ignore SIGINT. Their children inherit
/// that, and .NET leaves an ignored signal ignored.
/// </remarks>
internal static class InterruptibleProcess
{
    private const int Interrupt = 2;
    private const nint Default = 0;
    private const nint Ignore = 1;

    // More than any system's struct sigaction; its first member is the handler everywhere.
    private const int ActionWords = 64;

    private static readonly Lock Starting = new();

    public static Process Start(ProcessStartInfo start)
    {
        if (OperatingSystem.IsWindows())
        {
            return Process.Start(start)!;
        }

        lock (Starting)
        {
            // A handler of .NET is not touched: children get the default in its place.
            nint[] action = new nint[ActionWords];
            Assert.Equal(0, sigaction(Interrupt, 0, action));
            if (action[0] != Ignore)
            {
                return Process.Start(start)!;
            }

            _ = signal(Interrupt, Default);
            try
            {
                return Process.Start(start)!;
            }
            finally
            {
                _ = signal(Interrupt, Ignore);
            }
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [DllImport("libc")]
    private static extern int sigaction(int signal, nint action, [Out] nint[] old);

    [DllImport("libc")]
    private static extern nint signal(int signal, nint handler);
#pragma warning restore SYSLIB1054, IDE1006
}
