using System.Globalization;
using System.Management.Automation.Host;
using System.Management.Automation.Internal;
using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Rendering;

namespace ProtoRpc;

/// <summary>Called by the module's views (cmdlets/views/*.ps1xml); not for scripts.</summary>
public static class RpcView
{
    /// <summary>The text of a message's object: JSON in one line.</summary>
    public static string ToText(PSObject message)
    {
        ArgumentNullException.ThrowIfNull(message);
        return ViewJson.Format(ViewObjectModel.OfMessage, message);
    }

    /// <summary>The text of a list, map or bytes of a message, as in the cells of ConvertTo-RpcRecord: JSON
    /// in one line, or <c>base64:...</c> for bytes.</summary>
    public static string ToCell(PSObject collection)
    {
        ArgumentNullException.ThrowIfNull(collection);
        return collection.BaseObject switch
        {
            byte[] { Length: 0 } => "",
            byte[] bytes => BytesReader.TextOf(bytes),
            var other => ViewJson.Format(ViewObjectModel.OfMessage, other),
        };
    }

    /// <summary>The full name of a raw message, to serialize it.</summary>
    public static string TypeOf(PSObject message) => RawOf(message).Type.FullName;

    /// <summary>The bytes of a raw message, to serialize it.</summary>
    public static byte[] Encode(PSObject message) => RawOf(message).ToByteArray();

    /// <summary>The report of a load test, to show and to serialize it.</summary>
    public static string Report(PSObject result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return ((RpcLoadResult)result.BaseObject).ToText();
    }

    /// <summary>The table that contains a message as a row; nothing for a message that is shown as a
    /// list.</summary>
    public static object Group(PSObject message)
    {
        ArgumentNullException.ThrowIfNull(message);
        return TypeOfRow(message, ViewState.Current) is { } type ? type.FullName : AutomationNull.Value;
    }

    /// <summary>Begins a table with its first message.</summary>
    /// <returns>The header above the table.</returns>
    public static string StartTable(PSObject message)
    {
        ArgumentNullException.ThrowIfNull(message);
        ViewState state = ViewState.Current;
        state.TypeOfTable = TypeOfRow(message, state);
        state.Table = state.TypeOfTable is { } type
            ? new MessageTable(ViewObjectModel.Instance, [ObjectOf(message)], type, state.Width)
            : null;
        state.IsFirstRow = true;
        return $"   {state.TypeOfTable?.FullName}";
    }

    /// <summary>Formats a message as a row of its table, or as a list.</summary>
    public static string Show(PSObject message)
    {
        ArgumentNullException.ThrowIfNull(message);
        ViewState state = ViewState.Current;
        try
        {
            return state.Table is { } table && TypeOfRow(message, state) is { } row
                && row == state.TypeOfTable
                ? ShowRow(state, table, ObjectOf(message))
                : ShowList(message, state.Width, ViewState.Style);
        }
        catch (RpcException e)
        {
            // The contents of an Any are parsed only when they are shown, so an error may appear here.
            return $"# {TerminalText.Neutralize(e.Message)}\n";
        }
    }

    /// <summary>Formats a message of New-RpcMessage as a tree of its fields.</summary>
    public static string Blank(object message)
    {
        ViewObjectModel objects = ViewObjectModel.Instance;
        return objects.Unwrap(message) is BlankMessage blank
            ? string.Join(
                '\n', BlankList.Format(objects, blank, ViewState.Current.Width, ViewState.Style)) + "\n"
            : TerminalText.Neutralize($"{message}");
    }

    /// <summary>The details of a failed call, a line for each.</summary>
    public static string Details(RpcException error)
    {
        ArgumentNullException.ThrowIfNull(error);
        return string.Join('\n', DetailLines.Format(error.Details));
    }

    /// <summary>A time in milliseconds, in the six columns of a table.</summary>
    public static string Milliseconds(TimeSpan time)
    {
        double all = time.TotalMilliseconds;
        return all.ToString(
            all < 10 ? "0.000" : all < 100 ? "0.00" : all < 1000 ? "0.0" : "0", CultureInfo.InvariantCulture);
    }

    /// <summary>The package, message or service that declares a part of a schema; nothing for a part without
    /// package.</summary>
    public static object Scope(object part) => (part is PSObject wrapped ? wrapped.BaseObject : part) switch
    {
        RpcMethodInfo method => $"service {method.Service.FullName}",
        RpcServiceInfo service => ScopeOf(service.FullName, service.Schema),
        RpcMessageInfo message => ScopeOf(message.FullName, message.Schema),
        RpcEnumInfo type => ScopeOf(type.FullName, type.Schema),
        _ => AutomationNull.Value,
    };

    /// <summary>A part of a schema in .proto syntax.</summary>
    /// <param name="part">The service, method, message type or enum.</param>
    public static string Proto(object part)
    {
        ViewStyle colors = ViewState.Style;
        int width = ViewState.Current.Width;
        return (part is PSObject wrapped ? wrapped.BaseObject : part) switch
        {
            RpcMethodInfo method => ProtoView.Format(method, width, colors),
            RpcServiceInfo service => ProtoView.Format(service, width, colors),
            RpcMessageInfo message => ProtoView.Format(message, width, colors),
            RpcEnumInfo type => ProtoView.Format(type, width, colors),
            _ => TerminalText.Neutralize(part?.ToString()),
        };
    }

    private static DynamicMessage RawOf(PSObject message)
    {
        ArgumentNullException.ThrowIfNull(message);
        return (DynamicMessage)message.BaseObject;
    }

    private static object ScopeOf(string fullName, RpcSchema schema) =>
        (object?)ProtoView.ScopeOf(fullName, schema) ?? AutomationNull.Value;

    private static string ShowRow(ViewState state, MessageTable table, object message)
    {
        string row = table.Row(message);
        if (!state.IsFirstRow)
        {
            return row;
        }

        state.IsFirstRow = false;
        return $"{table.Header(ViewState.Style)}\n{row}";
    }

    private static string ShowList(PSObject message, int width, ViewStyle style)
    {
        ViewObjectModel objects = ViewObjectModel.Instance;
        object shown = ObjectOf(message);
        return shown is PSObject { BaseObject: PSCustomObject }
            ? string.Join(
                '\n', MessageList.Format(objects, shown, TypeOfMessage(message), width, style)) + "\n"
            : ViewLine.Format(objects, shown, null, width, out _);
    }

    private static object ObjectOf(PSObject message) => message.BaseObject is DynamicMessage raw
        ? ShellMapper.Create(asHashtable: false).ToObject(raw)
        : message;

    private static RpcMessageInfo? TypeOfMessage(PSObject message) =>
        message.BaseObject is DynamicMessage raw ? raw.Type
        : ObjectTypeNames.TryGetType(message, out RpcMessageInfo? type) ? type
        : null;

    // Decided by the type alone, so that a message looks the same alone, from a stream and in a pipeline.
    private static RpcMessageInfo? TypeOfRow(PSObject message, ViewState state) =>
        TypeOfMessage(message) is { } type && state.IsRow(type) ? type : null;
}

/// <summary>The views' state in a runspace between two objects: the current table, and the size of the
/// window.</summary>
internal sealed class ViewState
{
    // Reading the window's size takes longer than writing a row, and it rarely changes.
    private const int FreshMilliseconds = 200;
    private const int DefaultWidth = 120;
    private const int MaxWidth = 4096;

    private static readonly ConditionalWeakTable<Runspace, ViewState> States = [];

    private long _asked = -FreshMilliseconds;
    private int _width = DefaultWidth;
    private (RpcMessageInfo? Type, int Width, bool IsRow) _row;

    /// <summary>The shell of the runspace, with the window; null before the module is imported.</summary>
    public EngineIntrinsics? Shell { get; set; }

    /// <summary>The table that is being shown; null for none.</summary>
    public MessageTable? Table { get; set; }

    public RpcMessageInfo? TypeOfTable { get; set; }

    /// <summary>Whether no row has been shown yet.</summary>
    public bool IsFirstRow { get; set; }

    /// <summary>The width of a line in cells.</summary>
    public int Width
    {
        get
        {
            if (Environment.TickCount64 - _asked > FreshMilliseconds)
            {
                _width = WidthOf(Shell?.Host);
                _asked = Environment.TickCount64;
            }

            return _width;
        }
    }

    /// <summary>Whether messages of a type are rows of a table. Most messages of a pipeline have the type of
    /// the one before.</summary>
    public bool IsRow(RpcMessageInfo type)
    {
        int width = Width;
        if (_row.Type != type || _row.Width != width)
        {
            _row = (type, width, MessageLayout.For(type).WellKnown == WellKnownType.None
                && MessageTable.Fits(type, width));
        }

        return _row.IsRow;
    }

    /// <summary>The state of the current thread's runspace.</summary>
    public static ViewState Current => Runspace.DefaultRunspace is { } runspace
        ? States.GetValue(runspace, _ => new ViewState())
        : new ViewState();

    /// <summary>The colours of the shell's <c>$PSStyle</c>.</summary>
    public static ViewStyle Style
    {
        get
        {
            PSStyle style = PSStyle.Instance;
            return new(
                style.Formatting.TableHeader, style.Formatting.FormatAccent, style.Dim,
                style.Foreground.BrightBlue, style.Foreground.Green, style.Reset);
        }
    }

    // The shell leaves the last column of a window free. A host without a window reports no size.
    private static int WidthOf(PSHost? host)
    {
        try
        {
            int width = host?.UI?.RawUI?.BufferSize.Width ?? 0;
            return width > 1 ? Math.Min(width, MaxWidth) - 1 : DefaultWidth;
        }
        catch (Exception e) when (e is HostException or NotImplementedException or NotSupportedException
            or InvalidOperationException or IOException)
        {
            return DefaultWidth;
        }
    }
}

/// <summary>Reads objects to show them. Deferred values are not converted, and a property that throws is left
/// out.</summary>
internal sealed class ViewObjectModel : PSObjectModel
{
    private readonly bool _showsEndpoint;

    private ViewObjectModel(bool showsEndpoint) => _showsEndpoint = showsEndpoint;

    /// <summary>Includes the endpoint of a reply, if there are several.</summary>
    public static new ViewObjectModel Instance { get; } = new(showsEndpoint: true);

    /// <summary>Reads only the message.</summary>
    public static ViewObjectModel OfMessage { get; } = new(showsEndpoint: false);

    protected override bool IsMember(PSPropertyInfo property) =>
        IsEndpoint(property) ? _showsEndpoint : !IsOfTypeData(property);

    protected internal override bool TryGetValue(PSPropertyInfo property, out object? value)
    {
        if (property is NestedProperty deferred)
        {
            value = deferred.Unmade;
            return true;
        }

        try
        {
            return base.TryGetValue(property, out value);
        }
        catch (RpcException)
        {
            value = null;
            return true;
        }
    }
}
