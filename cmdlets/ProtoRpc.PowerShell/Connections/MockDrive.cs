using System.Management.Automation.Provider;
using System.Management.Automation.Runspaces;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

/// <summary>A drive in the scope that owns a mock. When a scope ends, the shell notifies only the providers
/// of the drives in it.</summary>
internal sealed class MockDrive : PSDriveInfo
{
    // PowerShell's name for the stack frames of script blocks and scripts.
    private const string Block = "<ScriptBlock>";

    private const string CurrentScope = "0";
    private const string ParentScope = "1";

    private readonly RpcMockListener _mock;

    // Whether each frame of the call stack runs a function or a method of a class, the outermost frame first.
    private readonly bool[] _functions;

    private MockDrive(ProviderInfo provider, RpcMockListener mock, bool[] functions)
        : base($"RpcMock{mock.Id}", provider, mock.Endpoint.ToString(), $"Mock {mock.Id}", credential: null)
    {
        _mock = mock;
        _functions = functions;
    }

    /// <summary>Makes the current scope the owner of a mock.</summary>
    public static void Add(RpcMockListener mock, SessionState session)
    {
        bool[] functions =
        [
            .. CallStack()
                .Select(frame => !frame.FunctionName.StartsWith(Block, StringComparison.Ordinal))
                .Reverse(),
        ];
        Add(mock, functions, session, CurrentScope, session.Provider.GetOne(RpcMockProvider.Name));
    }

    /// <summary>Removes the drive of a mock that was stopped.</summary>
    public static void Remove(RpcMockListener mock, SessionState session)
    {
        MockDrive? drive =
            session.Drive.GetAll().OfType<MockDrive>().FirstOrDefault(one => one._mock == mock);
        if (drive is not null)
        {
            session.Drive.Remove(drive.Name, force: true, scope: null);
        }
    }

    /// <summary>Stops the mock; if the scope was that of a function, makes the caller its owner, because
    /// functions make mocks for their callers.</summary>
    /// <param name="session">The session, with the scope of the caller.</param>
    public void Leave(SessionState session)
    {
        // The outermost frame that has ended is the one whose scope has ended.
        int running = CallStack().Count();
        if (running >= _functions.Length || !_functions[running])
        {
            // Running calls are cancelled.
            RunspaceStore.Current.Stop(_mock, TimeSpan.Zero);
        }
        else if (_mock.IsListening)
        {
            bool isStillCurrent =
                session.Drive.GetAllAtScope(CurrentScope).Any(drive => ReferenceEquals(drive, this));
            Add(_mock, _functions[..running], session, isStillCurrent ? ParentScope : CurrentScope, Provider);
        }
    }

    // A mock that is created at the prompt belongs to the session.
    private static void Add(
        RpcMockListener mock, bool[] functions, SessionState session, string scope, ProviderInfo provider)
    {
        if (functions.Length > 1)
        {
            session.Drive.New(new MockDrive(provider, mock, functions), scope);
        }
    }

    private static IEnumerable<CallStackFrame> CallStack() =>
        Runspace.DefaultRunspace.Debugger?.GetCallStack() ?? [];
}

/// <summary>The provider of the drives that stop mocks with their scopes.</summary>
[CmdletProvider(Name, ProviderCapabilities.None)]
public sealed class RpcMockProvider : DriveCmdletProvider
{
    internal const string Name = "RpcMock";

    /// <inheritdoc/>
    protected override PSDriveInfo RemoveDrive(PSDriveInfo drive)
    {
        (drive as MockDrive)?.Leave(SessionState);
        return drive;
    }
}
