namespace ProtoRpc.Rendering;

/// <summary>A table of messages of one type without nested values: a column for each field.</summary>
internal sealed class MessageTable
{
    private const int MaxCells = 4096;
    private const int MinCells = 4;
    private const int UsualCells = 20;
    private const char Gap = ' ';

    // In a narrower column, few texts are shown completely.
    private const int UsefulCells = 12;

    private readonly IObjectModel _objects;
    private readonly RpcMessageInfo? _type;
    private readonly List<TableColumn> _columns;
    private readonly int _width;

    /// <param name="objects">How objects are read.</param>
    /// <param name="first">The first messages, whose values decide how wide columns are.</param>
    /// <param name="type">The type of the messages.</param>
    /// <param name="width">The cells of a line.</param>
    /// <param name="isWhole">Whether no other messages follow, so that columns without values are left
    /// out.</param>
    public MessageTable(
        IObjectModel objects, IReadOnlyList<object> first, RpcMessageInfo? type, int width,
        bool isWhole = false)
    {
        _objects = objects;
        _type = type;
        _width = Math.Min(MaxCells, width);
        List<Dictionary<string, ViewMember>> values = [.. first.Select(MembersOf)];
        _columns =
        [
            .. values[0].Values
                .Select(member => new TableColumn(member.Name, member.Field))
                .Where(column => !isWhole || CellsOf(values, column) > 0)
                .OrderBy(column => column.IsNested),
        ];

        // Removes columns that a script added, if the table is too narrow for them.
        while (_columns.Count > 1 && MinWidthOf(_columns) > _width
            && _columns.FindLastIndex(column => column.Field is null) is >= 0 and int last)
        {
            _columns.RemoveAt(last);
        }

        // Columns that do not fit are omitted, as in other tables of PowerShell.
        while (!TryLayout(values, isWhole) && _columns.Count > 1)
        {
            _columns.RemoveAt(_columns.Count - 1);
        }
    }

    /// <summary>Whether messages of a type can be rows of a table: they have several fields with one value
    /// each, which fit into a number of cells.</summary>
    public static bool Fits(RpcMessageInfo type, int width)
    {
        if (type.Fields.Count < 2 || type.Fields.Count > width)
        {
            return false;
        }

        List<TableColumn> columns = [.. type.Fields.Select(field => new TableColumn(field.Name, field))];
        return !columns.Exists(column => column.IsNested)
            && columns.Sum(column => Math.Max(column.MinCells, column.IsFlexible ? UsefulCells : 0))
                + columns.Count - 1 <= width;
    }

    /// <summary>The two lines above the rows.</summary>
    public string Header(ViewStyle style)
    {
        StringBuilder header = new(style.Header);
        StringBuilder line = new(style.Header);
        foreach (TableColumn column in _columns)
        {
            bool isLast = ReferenceEquals(column, _columns[^1]);
            string name = ViewText.ShortenName(column.Header, column.Cells);
            Append(header, column, name, isLast);
            Append(line, column, new string('-', ViewText.Cells(name)), isLast);
        }

        return $"{header}{style.Reset}\n{line}{style.Reset}";
    }

    public string Row(object message)
    {
        Dictionary<string, ViewMember> values = MembersOf(message);
        StringBuilder row = new();
        int position = 0;
        int planned = 0;
        foreach (TableColumn column in _columns)
        {
            bool isLast = ReferenceEquals(column, _columns[^1]);

            // A cell that is too long takes space from the texts after it.
            int room = column.IsFlexible
                ? Math.Max(
                    MinCells,
                    Math.Min(column.Cells - Math.Max(0, position - planned), _width - position))
                : column.IsNumber ? MaxCells : column.Cells;
            string cell = values.TryGetValue(column.Name, out ViewMember member)
                ? ViewLine.Format(_objects, member.Value, member.Field, room, out _, quotes: false)
                : "";
            int before = row.Length;
            Append(row, column, cell, isLast, room);
            position += ViewText.Cells(row.ToString(before, row.Length - before));
            planned += column.Cells + 1;
        }

        return row.ToString().TrimEnd(Gap);
    }

    private static int MinWidthOf(IReadOnlyCollection<TableColumn> columns) =>
        columns.Sum(column => column.MinCells) + columns.Count - 1;

    private static void Append(
        StringBuilder line, TableColumn column, string cell, bool isLast, int? room = null)
    {
        int cells = room is { } given && column.IsFlexible ? given : column.Cells;
        int padding = Math.Max(0, cells - ViewText.Cells(cell));
        line.Append(Gap, column.IsNumber ? padding : 0)
            .Append(cell)
            .Append(Gap, column.IsNumber || isLast ? 0 : padding)
            .Append(Gap, isLast ? 0 : 1);
    }

    private Dictionary<string, ViewMember> MembersOf(object message)
    {
        Dictionary<string, ViewMember> members = new(StringComparer.Ordinal);
        foreach (ViewMember member in ViewMember.GetMembers(_objects, message, _type))
        {
            members[member.Name] = member;
        }

        return members;
    }

    // Each column has the width of its first values. Texts get half as much again if more rows follow,
    // because later texts may be longer. If the table is too narrow, all columns with values share its width.
    private bool TryLayout(List<Dictionary<string, ViewMember>> first, bool isWhole)
    {
        int room = _width - (_columns.Count - 1);
        foreach (TableColumn column in _columns)
        {
            int cells = column.IsFlexible ? 0 : CellsOf(first, column);
            column.Cells = Math.Max(column.MinCells, cells);
            room -= column.Cells;
        }

        bool fits = room >= 0;
        List<TableColumn> flexible = _columns.FindAll(column => column.IsFlexible);
        int growth = isWhole ? 2 : 3;
        room = Share(flexible, column => CellsOf(first, column) * growth / 2, Math.Max(0, room));
        if (isWhole)
        {
            return fits;
        }

        // If the first value is empty, the width of later values is unknown. Such a column only gets space
        // that the others leave.
        room = Share(
            flexible.FindAll(column => CellsOf(first, column) == 0), static _ => UsualCells, room);
        if (flexible.Count > 0)
        {
            flexible[^1].Cells += room;
        }

        return fits;
    }

    // Widens columns to the requested width, or in proportion if there is less space. Returns the remaining
    // space.
    private static int Share(List<TableColumn> columns, Func<TableColumn, int> wants, int room)
    {
        List<int> wanted = columns.ConvertAll(column => Math.Max(0, wants(column) - column.Cells));
        int all = wanted.Sum();
        int left = room;
        for (int i = 0; i < columns.Count; i++)
        {
            int more = all <= room ? wanted[i] : (int)((long)wanted[i] * room / all);
            columns[i].Cells += more;
            left -= more;
        }

        return left;
    }

    private int CellsOf(List<Dictionary<string, ViewMember>> rows, TableColumn column) => rows.Max(row =>
        row.TryGetValue(column.Name, out ViewMember member)
            ? ViewText.Cells(
                ViewLine.Format(_objects, member.Value, member.Field, _width, out _, quotes: false))
            : 0);
}

/// <summary>A column of a table of messages.</summary>
/// <param name="Name">The field that it shows.</param>
/// <param name="Field">The field, where that is known.</param>
internal sealed record TableColumn(string Name, RpcFieldInfo? Field)
{
    private const int MaxHeader = 24;
    private const int MinFlexible = 8;
    private const int MaxEnum = 20;
    private const int TimeCells = 19;

    /// <summary>The header.</summary>
    public string Header { get; } = ViewText.ShortenName(Name, MaxHeader);

    /// <summary>Whether the column contains numbers, which are right-aligned and never cut.</summary>
    public bool IsNumber => Field is { IsRepeated: false } && Field.Kind is not (RpcFieldKind.String
        or RpcFieldKind.Bytes or RpcFieldKind.Bool or RpcFieldKind.Enum or RpcFieldKind.Message
        or RpcFieldKind.Group);

    /// <summary>Whether the column can use any available width: texts, bytes, lists and messages.</summary>
    public bool IsFlexible => Field is null || Field.IsRepeated || (IsNested && !IsTime)
        || Field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes;

    /// <summary>Whether the column comes after those with single values.</summary>
    public bool IsNested => Field is null || Field.IsRepeated
        || (Field.Kind is RpcFieldKind.Message or RpcFieldKind.Group && !IsOneValue);

    /// <summary>The minimum width, without which the table is not used.</summary>
    public int MinCells => Math.Max(ViewText.Cells(Header), Field switch
    {
        _ when IsFlexible => MinFlexible,
        _ when IsTime => TimeCells,
        { Kind: RpcFieldKind.Bool } => "false".Length,
        { EnumType: { } type } => Math.Min(MaxEnum, type.Values.Max(value => value.Key.Length)),
        _ => 1,
    });

    /// <summary>The width in cells; set by the layout.</summary>
    public int Cells { get; set; }

    private bool IsTime => Field is { IsRepeated: false, MessageType.FullName: "google.protobuf.Timestamp" };

    // Whether the type is a well-known one that is shown as a single value.
    private bool IsOneValue => Field!.MessageType!.FullName is "google.protobuf.Timestamp"
        or "google.protobuf.Duration" or "google.protobuf.FieldMask"
        || (Field.MessageType.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal)
            && Field.MessageType.FullName.EndsWith("Value", StringComparison.Ordinal)
            && Field.MessageType.Fields is [{ Name: "value" }]);
}
